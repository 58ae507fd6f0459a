"""Where views differ from the reference on purpose: one switch a difference, all on by default."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Each switch names what ours does; False restores the reference byte for byte.

    `code_points`: lengths are code points, not UTF-16 units.
    `obey_enabled`: `digest.enabled` false leaves everything whole.
    `head_counts`: the head above a view and the last line of a log count in the ratio guard.
    `path_first`: a source path is never condensed, whatever its text looks like.
    `keep_times`: the hour of a time is no line number.
    `see_colours`: colour codes do not hide the words of a log.
    `more_marks`: `npm ERR!`, `error:`, `error[E0308]:`, `✕` and the like mark lines of a log.
    `show_failures`: lines of a log about failed tests are shown though others are like them.
    `end_traces`: a trace that ends in the name of the exception is shown to its end.
    `show_errors`: data that a command printed keeps its first errors, and says how many it hides.
    `arrow_numbers`: a number and an arrow before a line are a line number.
    `count_groups`: a group of like lines in a log says how many there are, and where.
    `name_files`: a search view names every file, or counts the files it does not name.
    `original_chars`: a marker counts the characters of long lines before they were cut.
    `own_bytes`: JSON items keep their own bytes, and numbers their digits.
    `jsonl`: lines of JSON are condensed as such.
    `constant_fields`: fields that are the same in all items are said once.
    `marked_spills`: a text is a view of a spill when that is recorded, not when it says so.
    `command_paths`: a command that prints a source file counts as a read of that path.
    `fill_gaps`: lines of data that take no more room than the marker for them are shown.
    `cut_matches`: very long lines of search results are cut as those of data are.
    `bound_views`: a view shows at most 40,000 code points, and says how much is missing.
    `host_names`: tools are known by their plain name: `Read` and `mcp__files__read` are `read`.
    `say_once`: lines that stand above, in the turn or in a message, are counted, not sent again.
    """

    code_points: bool = True
    obey_enabled: bool = True
    head_counts: bool = True
    path_first: bool = True
    keep_times: bool = True
    see_colours: bool = True
    more_marks: bool = True
    show_failures: bool = True
    end_traces: bool = True
    show_errors: bool = True
    arrow_numbers: bool = True
    count_groups: bool = True
    name_files: bool = True
    original_chars: bool = True
    own_bytes: bool = True
    jsonl: bool = True
    constant_fields: bool = True
    marked_spills: bool = True
    command_paths: bool = True
    fill_gaps: bool = True
    cut_matches: bool = True
    bound_views: bool = True
    host_names: bool = True
    say_once: bool = True


RULES = Rules()
"""The product as shipped."""

REFERENCE = Rules(**{field.name: False for field in fields(Rules)})
"""Every difference off: what the recorded implementation does."""
