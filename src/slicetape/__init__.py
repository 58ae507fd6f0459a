"""Long agent sessions on a small context: nothing is lost, nothing sent is rewritten."""
