"""codes: the status codes by name, as in codes.ok and codes.NOT_FOUND."""

from http import HTTPStatus

from .structures import LookupDict

_MORE = {
    200: "okay all_ok all_okay all_good",
    203: "non_authoritative_info",
    206: "partial",
    207: "multiple_status",
    301: "moved",
    303: "other",
    307: "temporary_moved temporary",
    308: "resume_incomplete resume",
    400: "bad",
    402: "payment",
    405: "not_allowed",
    407: "proxy_auth proxy_authentication",
    408: "timeout",
    412: "precondition",
    413: "request_entity_too_large",
    414: "request_uri_too_large request_uri_too_long",
    415: "unsupported_media media_type",
    416: "requested_range requested_range_not_satisfiable range_not_satisfiable",
    418: "teapot i_am_a_teapot",
    421: "misdirected_request",
    422: "unprocessable unprocessable_entity",
    425: "unordered_collection",
    426: "upgrade",
    428: "precondition_required",
    429: "too_many",
    431: "header_fields_too_large fields_too_large",
    451: "unavailable_for_legal_reasons legal_reasons",
    500: "server_error",
    503: "unavailable",
    505: "http_version",
    511: "network_auth network_authentication",
}

codes = LookupDict("status_codes")

for _status in HTTPStatus:
    for _name in (_status.name.lower(), *_MORE.get(_status.value, "").split()):
        setattr(codes, _name, _status.value)
        setattr(codes, _name.upper(), _status.value)
