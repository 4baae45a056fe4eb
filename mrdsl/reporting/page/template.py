"""The page's frame as a template of Jinja, which escapes whatever is put into it."""

TEMPLATE = """\
{%- macro cells(table) -%}
<div class="scroll" tabindex="0" role="region" aria-label="{{ table.label }}">
<table>
{% if table.title %}<caption>{{ table.title }}</caption>
{% endif %}<thead><tr>{% for head in table.heads %}{% if head.text %}<th scope="col"{{ head.kind }}>{{ head.text }}</th>
{%- else %}<td></td>{% endif %}{% endfor %}</tr></thead>
<tbody>
{% for row in table.rows %}<tr>{% for cell in row %}{% if loop.first %}<th scope="row">{{ cell.text }}</th>
{%- else %}<td{{ cell.kind }}>{{ cell.text }}</td>{% endif %}{% endfor %}</tr>
{% endfor %}</tbody>
</table>
</div>
{% if table.left %}<p>... and {{ table.left }} more rows</p>
{% endif %}
{%- endmacro -%}
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="mrdsl {{ version }}">
<title>{{ title }}</title>
<style>{{ style }}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the report</a>
<header>
<h1>{{ title }}</h1>
<nav aria-label="Sections"><ul>
{% for section in sections %}<li><a href="#{{ section.key }}">{{ section.title }}</a></li>
{% endfor %}</ul></nav>
</header>
<main id="content">
{% if decision %}<section id="decision" aria-labelledby="decision-heading">
<h2 id="decision-heading">Decision</h2>
<p class="decision">{{ decision }}</p>
<p>{{ proof }}</p>
</section>
{% endif %}{% for section in sections %}<section id="{{ section.key }}" aria-labelledby="{{ section.key }}-heading">
<h2 id="{{ section.key }}-heading">{{ section.title }}</h2>
{% for part in section.parts %}{% if part.form == "text" %}<p>{{ part.text }}</p>
{% elif part.form == "table" %}{{ cells(part) }}
{% elif part.form == "chart" %}<figure id="{{ part.key }}">
<figcaption>{{ part.title }}</figcaption>
<div class="scroll" tabindex="0" role="region" aria-label="{{ part.title }}">
<img class="still" alt="{{ part.title }}: its numbers stand below" src="{{ part.image }}">
<div class="live"></div>
</div>
<details><summary>Numbers of &ldquo;{{ part.title }}&rdquo;</summary>
{{ cells(part.numbers) }}
</details>
</figure>
{% elif part.form == "listing" %}<div class="scroll" tabindex="0" role="region" aria-label="{{ part.name }}">
<pre><code>{% for line in part.lines %}{% if line.said %}<mark>{{ line.text }}</mark>
{% for one in line.said %}<span class="said">{{ one }}</span>
{% endfor %}{% else %}{{ line.text }}
{% endif %}{% endfor %}</code></pre>
</div>
{% endif %}{% endfor %}</section>
{% endfor %}</main>
<footer><p>Made by mrdsl {{ version }}. This page needs no network.</p></footer>
{% if charts %}<script type="application/json" id="drawings">{{ charts }}</script>
<script>{{ bundle }}</script>
<script>{{ script }}</script>
{% endif %}</body>
</html>
"""
