# SPDX-License-Identifier: BSD-2-Clause
"""A checker for the part of JSON Schema that docs/report.schema.json uses. A keyword that it does not
know is an error, so that nothing in the schema goes unchecked."""
import re

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "oneOf", "enum", "const", "type", "minimum", "pattern",
         "properties", "required", "additionalProperties", "items", "minItems"}


def check(value, schema, root, where="$"):
    """A list of what is wrong with value; empty: nothing."""
    unknown = set(schema) - KNOWN
    assert not unknown, "schema.py does not know %s" % sorted(unknown)
    wrong = []
    if "$ref" in schema:
        name = schema["$ref"].split("/")
        assert name[:2] == ["#", "$defs"], schema["$ref"]
        wrong += check(value, root["$defs"][name[2]], root, where)
    if "oneOf" in schema:
        tries = [check(value, s, root, where) for s in schema["oneOf"]]
        if sum(not t for t in tries) != 1:
            wrong.append("%s: %d of oneOf match: %s" % (where, sum(not t for t in tries), min(tries, key=len)))
    if "enum" in schema and value not in schema["enum"]:
        wrong.append("%s: %r is not one of %s" % (where, value, schema["enum"]))
    if "const" in schema and value != schema["const"]:
        wrong.append("%s: %r is not %r" % (where, value, schema["const"]))
    types = schema.get("type")
    if types is not None:
        types = [types] if isinstance(types, str) else types
        if not any(TYPES[t](value) for t in types):
            return wrong + ["%s: %r is not %s" % (where, value, " or ".join(types))]
    if "minimum" in schema and TYPES["number"](value) and value < schema["minimum"]:
        wrong.append("%s: %r is less than %r" % (where, value, schema["minimum"]))
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        wrong.append("%s: %r does not match %s" % (where, value, schema["pattern"]))
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for key in schema.get("required", []):
            if key not in value:
                wrong.append("%s: %s is missing" % (where, key))
        for key, inner in value.items():
            rest = schema.get("additionalProperties", {})
            if key in properties:
                wrong += check(inner, properties[key], root, "%s.%s" % (where, key))
            elif rest is False:
                wrong.append("%s: %s is not in the schema" % (where, key))
            else:
                wrong += check(inner, rest, root, "%s.%s" % (where, key))
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            wrong.append("%s: too few" % where)
        for i, inner in enumerate(value):
            wrong += check(inner, schema.get("items", {}), root, "%s[%d]" % (where, i))
    return wrong
