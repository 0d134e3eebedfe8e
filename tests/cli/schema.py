# SPDX-License-Identifier: BSD-2-Clause
"""A checker for the part of JSON Schema that docs/report.schema.json uses. A keyword that it does not
know is an error, so that nothing in the schema goes unchecked. Reports of a kernel have a million values:
each part of a schema becomes a function once."""
import re

TYPES = {"object": {dict}, "array": {list}, "string": {str}, "integer": {int}, "number": {int, float}, "boolean": {bool}, "null": {type(None)}}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "oneOf", "enum", "const", "type", "minimum", "pattern",
         "properties", "required", "additionalProperties", "items", "minItems"}
NOTHING = []

made = {}  # id of a root: it, and the functions of its parts by id


def check(value, schema, root, where="$"):
    """A list of what is wrong with value; empty: nothing."""
    _, functions = made.setdefault(id(root), (root, {}))
    return [where + wrong for wrong in function_of(schema, root, functions)(value)]


def function_of(schema, root, functions):
    """What says of a value what is wrong with it, and where in it."""
    if id(schema) in functions:
        return functions[id(schema)][0]
    steps, rest = [], []  # `rest`: for values of a type that is allowed

    def all_steps(value):
        wrong = NOTHING
        for step in steps:
            found = step(value)
            if found:
                wrong = wrong + found
        if not types or type(value) in types:
            for step in rest:
                found = step(value)
                if found:
                    wrong = wrong + found
        else:
            wrong = wrong + [": %r is not %s" % (value, " or ".join(names))]
        return wrong

    functions[id(schema)] = all_steps, schema  # before its parts: a reference may lead back here
    unknown = set(schema) - KNOWN
    assert not unknown, "schema.py does not know %s" % sorted(unknown)
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    types = set().union(*(TYPES[name] for name in names))
    if "$ref" in schema:
        name = schema["$ref"].split("/")
        assert name[:2] == ["#", "$defs"], schema["$ref"]
        steps.append(function_of(root["$defs"][name[2]], root, functions))
    if "oneOf" in schema:
        steps.append(one_of([function_of(one, root, functions) for one in schema["oneOf"]]))
    if "enum" in schema:
        steps.append(lambda v: NOTHING if v in schema["enum"] else [": %r is not one of %s" % (v, schema["enum"])])
    if "const" in schema:
        steps.append(lambda v: NOTHING if v == schema["const"] else [": %r is not %r" % (v, schema["const"])])
    if "minimum" in schema:
        least = schema["minimum"]
        rest.append(lambda v: [": %r is less than %r" % (v, least)] if type(v) in TYPES["number"] and v < least else NOTHING)
    if "pattern" in schema:
        pattern = re.compile(schema["pattern"])
        rest.append(lambda v: [": %r does not match %s" % (v, pattern.pattern)] if type(v) is str and not pattern.search(v) else NOTHING)
    if {"properties", "required", "additionalProperties"} & set(schema):
        rest.append(of_object(schema, root, functions))
    if {"items", "minItems"} & set(schema):
        rest.append(of_array(schema, root, functions))
    return all_steps


def one_of(functions):
    def step(value):
        tries = [function(value) for function in functions]
        nr = sum(not wrong for wrong in tries)
        return NOTHING if nr == 1 else [": %d of oneOf match: %s" % (nr, min(tries, key=len))]
    return step


def of_object(schema, root, functions):
    required = schema.get("required", [])
    properties = {key: function_of(inner, root, functions) for key, inner in schema.get("properties", {}).items()}
    more = schema.get("additionalProperties", {})
    other = None if more is False else function_of(more, root, functions)

    def step(value):
        if type(value) is not dict:
            return NOTHING
        wrong = [": %s is missing" % key for key in required if key not in value]
        for key, inner in value.items():
            function = properties.get(key, other)
            if function is None:
                wrong.append(": %s is not in the schema" % key)
                continue
            found = function(inner)
            if found:
                wrong += [".%s%s" % (key, one) for one in found]
        return wrong
    return step


def of_array(schema, root, functions):
    least, function = schema.get("minItems", 0), function_of(schema.get("items", {}), root, functions)

    def step(value):
        if type(value) is not list:
            return NOTHING
        wrong = [": too few"] if len(value) < least else []
        for i, inner in enumerate(value):
            found = function(inner)
            if found:
                wrong += ["[%d]%s" % (i, one) for one in found]
        return wrong
    return step
