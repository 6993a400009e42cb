from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from rubricgrade.rubric import Rubric
from rubricgrade.rubric.prompt import MOST_CHARACTERS, read
from rubricgrade.rubric.rendering import MOST_RENDERED, PromptError, rendered
from rubricgrade.rubric.wording import ITEM, MOST_FILLED, fill, filled_length

VARIABLES: dict[str, Any] = {
    "names": ("Sales", "R&D\nÖ"),
    "items": ("of a map's own name",),
    "none": (),
    "strict": True,
    "limit": 48.2,
    "who": "  the CFO ",
}
NAMES = {"criterion": "names the total", "guidance": "", "reference": "R1\n\nR2", "item": "{{ vars.who }}"}


def said(prompt: str, **names: str) -> str:
    return rendered(prompt, {**NAMES, **names}, VARIABLES)


def flaws(prompt: str) -> list[str]:
    return [str(flaw) for flaw in read(prompt, VARIABLES)[1]]


class TestWhatIsAllowed:
    @pytest.mark.parametrize(
        ("prompt", "expected"),
        [
            ("No names at all.\n", "No names at all.\n"),
            ("{{ criterion }} {# a note #}/ {{ item }}", "names the total / {{ vars.who }}"),
            ("{{ vars.limit }} {{ vars['strict'] }} {{ vars.items[0] }}", "48.2 True of a map's own name"),
            ("{{ vars.names[-1] | upper | tojson }}", '"R&D\\nÖ"'),
            ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
            ("{{ ['b', 1] }} {{ ('b', 1) }} {{ vars.none }}", "['b', 1] ('b', 1) ()"),
            ("{% if vars.limit > 48 and not guidance %}a{% elif vars.strict %}b{% else %}c{% endif %}", "a"),
            ("{% if vars.limit < -1 %}a{% elif vars.strict == false %}b{% else %}c{% endif %}", "c"),
            ("{% if 1 < vars.limit <= 48.2 != 3 %}in{% endif %}", "in"),
            ("{% if 1 < vars.limit < 48 %}in{% endif %}out", "out"),
            ("{{ 'yes' if 'total' in criterion else 'no' }}", "yes"),
            ("{{ 'yes' if 'Sales' not in vars.names or vars.limit in [1, 2] else 'no' }}", "no"),
            ("{% for n in vars.names %}{{ loop.index }}. {{ n }}{% if not loop.last %}, {% endif %}{% endfor %}",
             "1. Sales, 2. R&D\nÖ"),
            ("{% for n in vars.none %}{{ n }}{% else %}nothing{% endfor %}", "nothing"),
            ("{% for a in vars.names %}{% for b in vars.names %}{{ loop.index0 }}{% endfor %}{{ loop.length }}{% endfor %}",
             "012012"),
            ("{{ vars.names | join('; ') }}/{{ vars.names | length }}", "Sales; R&D\nÖ/2"),
            ("[{{ vars.who | trim }}] {{ 'a b' | capitalize }} {{ 'A' | lower }}", "[the CFO] A b a"),
            ("{{ reference | indent(2) }}", "R1\n\n  R2"),
            ("{{ guidance | default('none', true) }}{{ criterion | default('none', true) }}", "nonenames the total"),
            ("{{ guidance | default('none') }}.", "."),
        ],
    )  # fmt: skip
    def test_is_filled_in(self, prompt: str, expected: str) -> None:
        assert flaws(prompt) == []
        assert said(prompt) == expected

    def test_what_is_put_in_is_never_looked_at_again(self) -> None:
        assert said("{{ item }}", item="{% for x in vars.names %}{{ x }}{% endfor %}").startswith("{% for")

    def test_a_prompt_may_be_as_long_as_the_bound_and_no_longer(self) -> None:
        assert said("x" * MOST_CHARACTERS) == "x" * MOST_CHARACTERS
        assert "20,001 characters, more than 20,000" in flaws("x" * (MOST_CHARACTERS + 1))[0]


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("prompt", "words"),
        [
            ("{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}", "'for' goes over a var"),
            ('{{ "x" * 10**10 }}', "arithmetic"),
            ('{{ "x" ~ "y" }}', "'~'"),
            ("{{ 1 + 1 }}", "arithmetic"),
            ("{{ -item }}", "arithmetic"),
            ('{{ "%999999999999d" % 1 }}', "arithmetic"),
            ('{{ "x"|center(9999999999) }}', "filter 'center'"),
            ("{{ criterion|replace('a', 'aaaa') }}", "filter 'replace'"),
            ("{{ criterion|lenght }}", "did you mean 'length'"),
            ("{{ vars.names|join(reference) }}", "written out"),
            ("{{ vars.names|join('" + "x" * 101 + "') }}", "written out"),
            ("{{ criterion|indent(17) }}", "up to 16"),
            ("{{ criterion|indent(width=2) }}", "without names"),
            ("{{ criterion|trim('x') }}", "takes no arguments"),
            ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "'macro'"),
            ("{% set a = 1 %}", "'set'"),
            ("{% set a %}b{% endset %}", "'set'"),
            ("{% with a = 1 %}{% endwith %}", "'with'"),
            ("{% include 'x' %}", "'include'"),
            ("{% import 'x' as x %}", "'import'"),
            ("{% from 'x' import y %}", "'from'"),
            ("{% extends 'x' %}", "'extends'"),
            ("{% block a %}{% endblock %}", "'block'"),
            ("{% call criterion() %}{% endcall %}", "'call'"),
            ("{% filter upper %}x{% endfilter %}", "'filter'"),
            ("{% autoescape true %}{% endautoescape %}", "'autoescape'"),
            ("{{ lipsum(9999) }}", "a call"),
            ("{{ criterion.upper() }}", "a call"),
            ("{{ criterion is string }}", "a test with 'is'"),
            ("{{ criterion[1:2] }}", "in brackets"),
            ("{{ {'a': 1} }}", "a map"),
            ("{{ criterion.__class__ }}", "may not look at '__class__'"),
            ("{{ vars.__class__ }}", "unknown variable '__class__'"),
            ("{{ vars[item] }}", "in brackets"),
            ("{{ vars.limits }}", "did you mean 'limit'"),
            ("{{ vars }}", "'vars' is no text"),
            ("{{ loop.index }}", "may not look at 'index'"),
            ("{% for n in vars.names %}{{ loop }}{% endfor %}", "'loop' is no text"),
            ("{% for n in vars.names %}{{ loop.cycle }}{% endfor %}", "may not look at 'cycle'"),
            ("{% for n in vars.names %}{% endfor %}{{ n }}", "unknown name 'n'"),
            ("{% for a, b in vars.names %}{% endfor %}", "one name of its own"),
            ("{% for item in vars.names %}{% endfor %}", "one name of its own"),
            ("{% for n in vars.names recursive %}{% endfor %}", "neither 'recursive'"),
            ("{% for n in vars.names if n %}{% endfor %}", "nor 'if'"),
            ("{% for n in vars.who %}{% endfor %}", "the variable 'who' is none"),
            ("{% for n in criterion %}{% endfor %}", "a variable that is a list"),
            ("{% for n in ['a'] %}{% endfor %}", "a variable that is a list"),
            ("{% for a in vars.names %}" * 3 + "{% endfor %}" * 3, "more than 2 loops"),
            ("{{ critrion }}", "did you mean 'criterion'"),
            ("{{ self }}", "unknown name 'self'"),
            ("{{ criterion if 1 }}", "needs an 'else'"),
            ("{{ 1e999 }}", "too large"),
            ("{{ " + "9" * 5000 + " }}", "more digits"),
            ("{{ '\\ud800' }}", "no text can hold"),
            ("{{ " + "(" * 500 + "item" + ")" * 500 + " }}", "nested more than 40 deep"),
            ("{{ " + "not " * 50 + "item }}", "nested more than 40 deep"),
            ("{{ item" + "|trim" * 3000 + " }}", "nested more than 40 deep"),
            ("{% if item %}" * 42 + "{% endif %}" * 42, "nested more than 40 deep"),
            ("{% if %}", "Expected an expression"),
        ],
    )  # fmt: skip
    def test_says_what_and_is_never_rendered(self, prompt: str, words: str) -> None:
        found = flaws(prompt)
        assert any(words in flaw for flaw in found), found
        with pytest.raises(PromptError, match="of the prompt"):
            said(prompt)

    def test_each_flaw_has_its_line_and_what_is_allowed(self) -> None:
        first, second = flaws("a\n{{ 1 * 2 }}\n{{ item }}\n{{ range(3) }}")
        assert first.startswith("line 2 of the prompt: arithmetic is not allowed; a prompt holds text, names")
        assert second.startswith("line 4 of the prompt: a call is not allowed")

    def test_endless_flaws_are_cut(self) -> None:
        assert len(flaws("{{ a }}\n" * 2000)) == 20


class TestBounds:
    def test_the_text_is_bounded(self) -> None:
        half = "r" * (MOST_RENDERED // 2)
        assert len(said("{{ reference }}" * 2, reference=half)) == MOST_RENDERED
        with pytest.raises(PromptError, match="more than 200,000 characters"):
            said("{{ reference }}{{ reference }}.", reference=half)

    @pytest.mark.parametrize(
        "prompt",
        [
            "{% for a in vars.many %}{% for b in vars.many %}{% endfor %}{% endfor %}",
            "{% for a in vars.many %}{% if criterion == reference %}{% endif %}{% endfor %}",
            "{% for a in vars.many %}{% if reference | upper %}{% endif %}{% endfor %}",
            "{{ vars.many | join('" + "x" * 100 + "') }}",
            "{% if 'c' in [" + "vars.many, " * 1000 + "] %}{% endif %}",
            "{{ [" + "reference, " * 1500 + "] }}",
            "{{ reference" + " | tojson" * 30 + " }}",
        ],
    )
    def test_work_is_bounded_and_takes_no_memory(self, prompt: str) -> None:
        long = {**NAMES, "criterion": '"' * 150_000, "reference": '"' * 150_000}
        tracemalloc.start()
        try:
            with pytest.raises(PromptError, match="more than 1,000,000 characters of work"):
                rendered(prompt, long, {"many": ("ab",) * 40_000})
            assert tracemalloc.get_traced_memory()[1] < 20 << 20
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize(
        ("prompt", "words"),
        [
            ("{{ criterion < 1 }}", "'<' not supported"),
            ("{{ criterion in vars.limit }}", "not iterable"),
            ("{{ vars.limit | length }}", "filter 'length'"),
            ("{{ vars.limit | join }}", "filter 'join'"),
            ("\n{{ vars.names[2] }}", r"line 2 of the prompt: there is no item \[2\]"),
            ("{{ vars.strict[0] }}", r"there is no item \[0\]"),
        ],
    )
    def test_what_only_rendering_finds(self, prompt: str, words: str) -> None:
        assert flaws(prompt) == []
        with pytest.raises(PromptError, match=words):
            said(prompt)

    def test_a_list_without_a_value_yet(self) -> None:
        prompt = "{% for n in vars.names %}{% endfor %}"
        assert read(prompt, {"names": None})[1] == ()
        with pytest.raises(PromptError, match="this is none"):
            rendered(prompt, NAMES, {"names": None})


class TestFilledTexts:
    def test_the_length_is_known_before_it_is_made(self) -> None:
        texts = ["{{ vars.who }}{{vars.names}} {{ vars.strict }}", "{{ item }} {{ 7 * 7 }}"]
        made = sum(len(fill(text, VARIABLES, "i" * ITEM)) for text in texts)
        assert filled_length(texts, VARIABLES) == made

    def test_a_long_item_is_cut(self) -> None:
        assert fill("{{ item }}{{ item }}", {}, "i" * 5000) == ("i" * ITEM + "…") * 2

    def test_items_can_not_make_much_of_little(self) -> None:
        one = {"id": "c", "points": 1, "judge": {}, "for_each": {"vars": "x", "if_none": "met", "at_most": 1000}}
        body = {"id": "r", "vars": {"x": ["a"]}, "criteria": [{**one, "description": "{{ item }}" * 8}]}
        assert Rubric.model_validate(body).tops
        body["criteria"] = [{**one, "description": "{{ item }}" * 9}]
        with pytest.raises(ValueError, match="with 1000 items filled in"):
            Rubric.model_validate(body)

    @pytest.mark.parametrize("criteria", [1, 100])
    def test_names_can_not_make_much_of_little(self, criteria: int) -> None:
        text = "{{ vars.x }}" * (20_000 // criteria)
        body = [{"id": f"c{n}", "description": text, "points": 1, "judge": {}} for n in range(criteria)]
        small = {"id": "r", "vars": {"x": "x" * (MOST_FILLED // 20_000)}, "criteria": body}
        assert Rubric.model_validate(small).tops
        with pytest.raises(ValueError, match=f"more than {MOST_FILLED:,}"):
            Rubric.model_validate({**small, "vars": {"x": "x" * 2000}})
