# SPDX-License-Identifier: BSD-2-Clause
"""A checker of SARIF 2.1.0 files for the objects that seep writes: which properties an object may have, which it must
have, and of what type they are. From the text of the standard (OASIS, chapter 3); the number of its section follows each."""
import re

TEXT, NUMBER, BOOL = "text", "number", "bool"


def one_of(*words):
    return ("words", words)


def list_of(kind):
    return ("list", kind)


def map_of(kind):
    return ("map", kind)


# name: (required, {property: kind}); a kind in capitals is another object.
OBJECTS = {
    "LOG": (("version", "runs"), {"$schema": TEXT, "version": one_of("2.1.0"), "runs": list_of("RUN")}),  # 3.13
    "RUN": (("tool",), {"tool": "TOOL", "invocations": list_of("INVOCATION"), "originalUriBaseIds": map_of("ARTIFACT"),
                        "columnKind": one_of("utf16CodeUnits", "unicodeCodePoints"), "results": list_of("RESULT")}),  # 3.14
    "TOOL": (("driver",), {"driver": "COMPONENT"}),  # 3.18
    "COMPONENT": (("name",), {"name": TEXT, "semanticVersion": TEXT, "rules": list_of("RULE")}),  # 3.19
    "RULE": (("id",), {"id": TEXT, "name": TEXT, "shortDescription": "MESSAGE"}),  # 3.49
    "MESSAGE": (("text",), {"text": TEXT}),  # 3.11
    "INVOCATION": (("executionSuccessful",), {"executionSuccessful": BOOL, "arguments": list_of(TEXT), "exitCode": NUMBER,
                                              "exitSignalNumber": NUMBER, "processStartFailureMessage": TEXT,
                                              "toolExecutionNotifications": list_of("NOTIFICATION")}),  # 3.20
    "NOTIFICATION": (("message",), {"level": one_of("none", "note", "warning", "error"), "message": "MESSAGE"}),  # 3.58
    "ARTIFACT": ((), {"uri": TEXT, "uriBaseId": TEXT}),  # 3.4
    "RESULT": (("message",), {"ruleId": TEXT, "ruleIndex": NUMBER, "level": one_of("none", "note", "warning", "error"),
                              "message": "MESSAGE", "locations": list_of("LOCATION"), "stacks": list_of("STACK"),
                              "partialFingerprints": map_of(TEXT),
                              "baselineState": one_of("new", "unchanged", "updated", "absent"),
                              "properties": map_of(NUMBER)}),  # 3.27
    "LOCATION": ((), {"physicalLocation": "PHYSICAL", "logicalLocations": list_of("LOGICAL")}),  # 3.28
    "PHYSICAL": (("artifactLocation",), {"artifactLocation": "ARTIFACT", "region": "REGION"}),  # 3.29
    "REGION": (("startLine",), {"startLine": NUMBER}),  # 3.30
    "LOGICAL": ((), {"fullyQualifiedName": TEXT, "kind": TEXT}),  # 3.33
    "STACK": (("frames",), {"message": "MESSAGE", "frames": list_of("FRAME")}),  # 3.44
    "FRAME": ((), {"location": "LOCATION", "module": TEXT}),  # 3.45
}
URI = re.compile(r"(?:file://)?[A-Za-z0-9._~/!$&'()*+,;=@%-]+")


def wrong(value, kind="LOG", where="$"):
    """What is wrong with the value, as a list; empty: nothing."""
    if kind == TEXT:
        return [] if isinstance(value, str) and value else ["%s: %r is no text" % (where, value)]
    if kind == NUMBER:
        return [] if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else ["%s: %r" % (where, value)]
    if kind == BOOL:
        return [] if isinstance(value, bool) else ["%s: %r" % (where, value)]
    if isinstance(kind, tuple):
        if kind[0] == "words":
            return [] if value in kind[1] else ["%s: %r is none of %s" % (where, value, kind[1])]
        if kind[0] == "list":
            return [w for i, v in enumerate(value) for w in wrong(v, kind[1], "%s[%d]" % (where, i))]
        return [w for k, v in value.items() for w in wrong(v, kind[1], "%s.%s" % (where, k))]
    required, properties = OBJECTS[kind]
    found = ["%s: %s is missing" % (where, name) for name in required if name not in value]
    found += ["%s: %s is unknown" % (where, name) for name in value if name not in properties]
    for name in value:
        if name in properties:
            found += wrong(value[name], properties[name], "%s.%s" % (where, name))
    if kind == "ARTIFACT" and not URI.fullmatch(value.get("uri", "")):
        found.append("%s: %r is no URI" % (where, value.get("uri")))
    return found


def check(log):
    assert wrong(log) == []
    for run in log["runs"]:
        rules = run["tool"]["driver"]["rules"]
        assert len({rule["id"] for rule in rules}) == len(rules)
        for result in run["results"]:
            # 3.27.6: the index is that of the rule with the id. Code hosts want a place of each result.
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["locations"][0]["physicalLocation"]
        for base, place in run["originalUriBaseIds"].items():
            assert place["uri"].endswith("/"), base  # 3.14.14
