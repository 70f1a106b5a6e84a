"""What is said of a pipeline before anything runs: what is wrong with it and where, and what its plan makes foreign."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from registry import Foreign, Permitted
from registry.errors import DocumentError, PipelineError
from registry.pipeline import Pipeline, load_pipeline, parse_pipeline, plan_pipeline
from tests.support.deployments import Nothing, Text, deploy, tool
from tests.support.pipelines import WORDS, Asked, Nested, Two, made, ran
from tests.support.snapshots import Snapshots

ROOT = Path(__file__).parents[2]


# -- what is found before anything runs ------------------------------------------------------------------------------


def step(id: str = "a", tool: str = "echo", **rest: Any) -> dict[str, Any]:  # noqa: A002  # as in the format
    return {"id": id, "tool": tool, **rest}


def text(value: Any) -> dict[str, Any]:
    return {"text": value}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no steps": ({"steps": []}, "steps: list should have at least 1 item after validation, not 0."),
    "no fields": ({}, "steps: is required."),
    "an unknown field": ({"steps": [step()], "stps": 1}, "stps: is not a field here (did you mean 'steps'?)."),
    "an unknown field of a step": (
        {"steps": [step(arguments=text("x"), wen=1)]},
        "step 'a', wen: is not a field here (did you mean 'when'?).",
    ),
    "a bad id": (
        {"steps": [step("a b")]},
        "step '1', id: string should match pattern '^[A-Za-z_][A-Za-z0-9_-]{0,63}$'.",
    ),
    "an id that is taken": (
        {"steps": [step(arguments=text("x")), step(arguments=text("x"))]},
        "step 'a', id: is the id of step 1 already.",
    ),
    "a reserved id": (
        {"steps": [step("item", arguments=text("x"))]},
        "step 'item', id: is one of inputs, item, index, which mean something else.",
    ),
    "a reference to nothing": (
        {"steps": [step(arguments=text({"$ref": "b.c"}))]},
        "step 'a', arguments.text.$ref: 'b.c' refers to a step that does not exist.",
    ),
    "a reference to itself": (
        {"steps": [step(arguments=text({"$ref": "a"}))]},
        "step 'a', arguments.text.$ref: 'a' refers to the step itself.",
    ),
    "a reference forward": (
        {"steps": [step(arguments=text({"$text": "{b.c}"})), step("b", arguments=text("x"))]},
        "step 'a', arguments.text.$text: 'b.c' refers to step 2, which comes later.",
    ),
    "a cycle": (
        {
            "steps": [
                step("a", arguments=text({"$ref": "c"})),
                step("b", arguments=text({"$ref": "a"})),
                step("c", arguments=text({"$ref": "b"})),
            ]
        },
        "step 'a', arguments.text.$ref: 'c' makes a cycle: a -> c -> b -> a.",
    ),
    "a reference in the depth": (
        {"steps": [step(arguments={"text": {"deep": ["x", {"$ref": "b"}]}})]},
        "step 'a', arguments.text.deep.1.$ref: 'b' refers to a step that does not exist.",
    ),
    "a condition on nothing": (
        {"steps": [step(arguments=text("x"), when={"$ref": "b", "exists": True})]},
        "step 'a', when.$ref: 'b' refers to a step that does not exist.",
    ),
    "a condition that says nothing": (
        {"steps": [step(arguments=text("x"), when={"$ref": "b"})]},
        "step 'a', when.exists: is required.",
    ),
    "a loop without a bound": (
        {"steps": [step(arguments=text("x"), for_each={"$ref": "b"})]},
        "step 'a', for_each.max: is required.",
    ),
    "a loop with a wide bound": (
        {"steps": [step(arguments=text("x"), for_each={"$ref": "b", "max": 5000})]},
        "step 'a', for_each.max: input should be less than or equal to 1000.",
    ),
    "a loop over its own item": (
        {"steps": [step(arguments=text("x"), for_each={"$ref": "item", "max": 5})]},
        "step 'a', for_each.$ref: 'item' stands outside of a step with for_each.",
    ),
    "an item outside of a loop": (
        {"steps": [step(arguments=text({"$ref": "item.a"}))]},
        "step 'a', arguments.text.$ref: 'item.a' stands outside of a step with for_each.",
    ),
    "an input that is not listed": (
        {"steps": [step(arguments=text({"$ref": "inputs.b"}))], "inputs": ["a"]},
        "step 'a', arguments.text.$ref: 'inputs.b' names an input that the pipeline does not list.",
    ),
    "all inputs": (
        {"steps": [step(arguments=text({"$ref": "inputs"}))], "inputs": ["a"]},
        "step 'a', arguments.text.$ref: 'inputs' names no input. Write inputs.name.",
    ),
    "an input listed twice": ({"steps": [step()], "inputs": ["a", "a"]}, "inputs: 'a' stands twice."),
    "a result of nothing": (
        {"steps": [step(arguments=text("x"))], "result": {"x": {"$ref": "b"}}},
        "result.x.$ref: 'b' refers to a step that does not exist.",
    ),
    "a form that does not exist": (
        {"steps": [step(arguments=text({"$env": "HOME"}))]},
        "step 'a', arguments.text: holds a key that begins with '$' and is none of $ref, $text, $prompt and $literal.",
    ),
    "a form with more in it": (
        {"steps": [step(arguments=text({"$ref": "b", "default": 1}))]},
        "step 'a', arguments.text.default: is not a field here.",
    ),
    "a reference that is no text": (
        {"steps": [step(arguments=text({"$ref": 3}))]},
        "step 'a', arguments.text.$ref: input should be a valid string.",
    ),
    "a value that is no json": (
        {"steps": [step(arguments=text(float("nan")))]},
        "step 'a', arguments.text: is no JSON value: write a string, a finite number, true, false or null.",
    ),
}

BAD_PATHS: dict[str, str] = {
    "": "'' does not begin with the id of a step. Write 'step' or 'step.path'.",
    "$.a": "'$.a' does not begin with the id of a step. Write 'step' or 'step.path'.",
    "a b": "'a b' has no '.' or '[' after the id of its step. Write 'step.path'.",
    "a.": "'a.' is not a path of RFC 9535: expected a shorthand selector.",
    "a..b": "'a..b' holds a descent or a filter. Write names, positions, slices and '*' alone.",
    "a[?@.b == 1]": "'a[?@.b == 1]' holds a descent or a filter. Write names, positions, slices and '*' alone.",
    "a[": "'a[' is not a path of RFC 9535: unexpected end of query.",
}


@pytest.mark.parametrize(("pipeline", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_pipeline_says_where(pipeline: dict[str, Any], message: str) -> None:
    with pytest.raises(PipelineError) as raised:
        parse_pipeline(pipeline)
    assert str(raised.value) == message


@pytest.mark.parametrize(("path", "message"), BAD_PATHS.items())
def test_a_wrong_path_says_where(path: str, message: str) -> None:
    with pytest.raises(PipelineError) as raised:
        parse_pipeline({"steps": [step(arguments=text("x")), step("b", arguments=text({"$ref": path}))]})
    assert str(raised.value) == f"step 'b', arguments.text.$ref: {message}"


@pytest.mark.parametrize("template", ["a } b", "{a", "{a {b}", "}"])
def test_a_brace_that_stands_alone_is_an_error(template: str) -> None:
    with pytest.raises(PipelineError, match=r"step 'b', arguments.text.\$text: a '[{}]' stands alone"):
        parse_pipeline({"steps": [step(arguments=text("x")), step("b", arguments=text({"$text": template}))]})


def bare(request: Any) -> str:
    raise AssertionError("a step ran")


NEVER = tuple(
    tool(bare, False, name=name, takes=takes)
    for name, takes in (("two", Two), ("nested", Nested), ("asked", Asked), ("secret", Nothing), ("echo", Text))
)

UNFIT: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown tool": (step(tool="nope"), "step 'b', tool: there is no tool 'nope' here."),
    "a tool that is not permitted": (step(tool="secret"), "step 'b', tool: this caller may not use the tool 'secret'."),
    "a field that is missing": (step(tool="two"), "step 'b', arguments.text: is required."),
    "a field that is missing beside a reference": (
        step(tool="two", arguments={"number": {"$ref": "a"}}),
        "step 'b', arguments.text: is required.",
    ),
    "a field that the tool does not have": (
        step(tool="two", arguments={"text": "x", "colour": {"$ref": "a"}}),
        "step 'b', arguments.colour: is not a field of this tool.",
    ),
    "a value that cannot fit": (
        step(tool="two", arguments={"text": {"$ref": "a"}, "number": "many"}),
        "step 'b', arguments.number: must be a whole number.",
    ),
    "a field for a model": (
        step(tool="asked", arguments={"prompt": {"$text": "Say {a}"}}),
        ("step 'b', arguments.prompt: the field is read by a model, so only $prompt may fill it from other steps "
        "(tool 'asked')."),
    ),
    "a reference into a field for a model": (
        step(tool="asked", arguments={"prompt": {"$ref": "a"}}),
        ("step 'b', arguments.prompt: the field is read by a model, so only $prompt may fill it from other steps "
        "(tool 'asked')."),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), UNFIT.values(), ids=UNFIT)
def test_what_cannot_work_with_these_tools_is_said_before_anything_runs(wrong: dict[str, Any], message: str) -> None:
    deployment = deploy(*NEVER, permitted=Permitted.of("two", "nested", "asked", "echo"))
    pipeline = made(step(arguments=text("x")), {**wrong, "id": "b"})

    with pytest.raises(PipelineError) as raised:
        ran(deployment, pipeline)
    assert str(raised.value) == message


FITTING: dict[str, dict[str, Any]] = {
    "a reference": step(tool="two", arguments={"text": {"$ref": "a"}, "number": {"$ref": "a.b"}}),
    "inside of a union": step(tool="nested", arguments={"inner": {"name": {"$ref": "a"}}, "names": [{"$ref": "a"}]}),
    "the other branch of a union": step(tool="nested", arguments={"inner": {"number": {"$ref": "a"}}}),
    "a union as a whole": step(tool="nested", arguments={"inner": {"$ref": "a"}, "names": {"$ref": "a[*]"}}),
    "a prompt": step(tool="asked", arguments={"prompt": {"$prompt": "Say {a}"}, "temperature": {"$ref": "a.t"}}),
    "a fixed text for a model": step(tool="asked", arguments={"prompt": "Say hello"}),
}


@pytest.mark.parametrize("fits", FITTING.values(), ids=FITTING)
def test_what_may_fit_is_not_refused(fits: dict[str, Any]) -> None:
    plan_pipeline(deploy(*NEVER), made(step(arguments=text("x")), {**fits, "id": "b"}))


def test_everything_that_is_wrong_is_said_at_once() -> None:
    pipeline = made(step(), step("b", "nope"), step("c", "two", arguments={"number": -1.5}))

    with pytest.raises(PipelineError) as raised:
        plan_pipeline(deploy(*NEVER), pipeline)
    assert str(raised.value) == (
        "4 things are wrong.\n"
        "- step 'a', arguments.text: is required.\n"
        "- step 'b', tool: there is no tool 'nope' here.\n"
        "- step 'c', arguments.text: is required.\n"
        "- step 'c', arguments.number: must be a whole number."
    )


# -- the dry run -----------------------------------------------------------------------------------------------------


def page_named(request: Text) -> str:
    return f"page {request.text}"


def test_the_plan_says_of_each_step_what_is_foreign_and_runs_nothing() -> None:
    tools = (
        tool(bare, page_named, name="fetch", takes=Text),
        tool(bare, False, name="echo", takes=Text, effect="write"),
    )
    pipeline = made(
        step("one", "fetch", arguments=text("a.example")),
        step("two", "fetch", arguments=text({"$ref": "inputs.address"})),
        step(
            "each",
            for_each={"$ref": "one.links", "max": 3},
            when={"$ref": "item.ok", "exists": True},
            arguments=text({"$text": "{item.url} {index} {two}"}),
        ),
        step("own", when={"$ref": "each", "equals": 1}, arguments=text("x")),
        inputs=["address"],
        result={"$ref": "each[0]"},
    )

    assert plan_pipeline(deploy(*tools), pipeline).text == (
        "1. one: fetch (read), once -> foreign: page a.example\n"
        "2. two: fetch (read), once -> foreign: an origin made from the input of fetch\n"
        "   arguments.text = inputs.address -> own\n"
        "3. each: echo (write), for each item of one.links (at most 3), when item.ok exists -> "
        "foreign: page a.example, an origin made from the input of fetch\n"
        "   arguments.text = item.url, index, two -> "
        "foreign: page a.example, an origin made from the input of fetch\n"
        "4. own: echo (write), once, when each equals a value -> own\n"
        "result = each[0] -> foreign: page a.example, an origin made from the input of fetch"
    )


def test_the_plan_knows_a_foreign_input() -> None:
    pipeline = made(step(arguments=text({"$ref": "inputs.task"})), inputs=["task"])
    plan = plan_pipeline(deploy(*NEVER), pipeline, inputs={"task": Foreign(WORDS, "webhook")})

    assert plan.steps[0].origins == plan.result.origins == ("webhook",)


# -- files -----------------------------------------------------------------------------------------------------------

EXAMPLE = ROOT / "docs" / "examples" / "pipeline" / "note.toml"


def test_toml_and_json_make_the_same_pipeline(tmp_path: Path) -> None:
    import tomllib

    copy = tmp_path / "note.json"
    copy.write_text(json.dumps(tomllib.loads(EXAMPLE.read_text("utf-8"))), "utf-8")

    assert load_pipeline(copy) == load_pipeline(EXAMPLE)


WRONG_FILES: dict[str, tuple[str, str, str]] = {
    "toml": (
        "a.toml",
        '[[steps]]\nid = "a"\ntool = "t"\n\n[[steps]]\nid = "b"\ntool = "t"\narguments.x = { "$ref" = "c.d" }\n',
        "line 8, step 'b', arguments.x.$ref: 'c.d' refers to a step that does not exist.",
    ),
    "toml, a field that is missing": (
        "a.toml",
        '\n[[steps]]\nid = "a"\n',
        "line 2, step 'a', tool: is required.",
    ),
    "json": (
        "a.json",
        '{\n "steps": [\n  {"id": "a", "tool": "t"},\n  {"id": "b", "tool": "t",\n   "when": {"$ref": "c", "exists": 1}}\n]}',
        "line 5, step 'b', when.$ref: 'c' refers to a step that does not exist.",
    ),
    "no json": ("a.json", '{\n "steps": [}\n', "line 2: is not JSON."),
    "no toml": ("a.toml", "a = 1\na = 2\n", "line 2: is not TOML."),
    "a key twice": (
        "a.json",
        '{"steps": [], "steps": []}',
        "holds an object in which a key stands twice. Which of the two holds cannot be known.",
    ),
    "no object": ("a.json", "[]", "holds no object. Write one with named fields."),
}


@pytest.mark.parametrize(("name", "content", "message"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_a_wrong_file_says_which_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    file = tmp_path / name
    file.write_text(content, "utf-8")

    with pytest.raises((PipelineError, DocumentError)) as raised:
        load_pipeline(file)
    assert str(raised.value) in (f"{file}, {message}", f"{file}: {message}")


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    for name, message in (("a.yaml", "ends in neither"), ("gone.toml", "cannot be read"), ("b.json", "not UTF-8")):
        (tmp_path / "b.json").write_bytes(b"\xff")
        with pytest.raises(DocumentError, match=message):
            load_pipeline(tmp_path / name)


SCHEMA = ROOT / "docs" / "reference" / "pipeline.schema.json"


def test_the_schema_of_the_format_is_the_committed_one(snapshots: Snapshots) -> None:
    snapshots.hold_file(SCHEMA, Pipeline.model_json_schema(by_alias=True))


def test_the_schema_accepts_what_loads_and_refuses_what_does_not() -> None:
    import tomllib

    validator: Any = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
    example = tomllib.loads(EXAMPLE.read_text("utf-8"))
    validator.validate(example)
    shapes = ("an unknown field", "a bad id", "a form that does not exist", "a form with more in it", "no steps")

    assert [name for name in shapes if validator.is_valid(WRONG[name][0])] == []
