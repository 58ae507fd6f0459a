"""The options of a request: who chose each of them, and which the route fills in."""

from slicetape.log.payloads import HeaderConfig, RequestEnvelope
from slicetape.loop.header import envelope_of
from slicetape.loop.live import Live


def request_config(live: Live) -> tuple[HeaderConfig, RequestEnvelope]:
    """The options of the next request and the envelope that is logged for it.

    An effort that somebody chose stands; else the wanted one where the model declares it, else
    the route's own default.
    """
    route, settings = live.model.route, live.settings
    filled = {}
    effort = settings.chosen_effort or live.wanted_effort(route)
    if effort is None and route.default_effort is not None:
        effort = route.default_effort
        filled["reasoningEffort"] = True
    most = settings.max_tokens
    if most is None and route.max_tokens is not None:
        most = route.max_tokens
        filled["maxTokens"] = True
    config = HeaderConfig(route.provider, route.model, effort, settings.temperature, most)
    return config, envelope_of(config, live.tool_schemas, filled)
