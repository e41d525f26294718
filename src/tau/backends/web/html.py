"""Finds the content of an HTML page and writes it as Markdown. Runs in the conversion worker."""

import re
from urllib.parse import urljoin

import html_to_markdown
from selectolax.lexbor import LexborHTMLParser, LexborNode

from tau.backends.web.plain_text import INVISIBLE, HtmlResult, plain_text

MAX_DEPTH = 500  # of nested elements; the parser's time is quadratic in it
MIN_SHARE = 0.25  # of the page's text, that its main element must have
POOR_CHARS = 200
MAX_STYLE_CHARS = 100_000
_NOISE = (
    "script, style, template, svg, canvas, object, embed, iframe, dialog, select, button, input, textarea"
    ", nav, [role=navigation], [role=banner], [role=contentinfo], [role=search], [role=dialog]"
    ", [role=alertdialog], a.headerlink, a.anchor, a.hash-link, .sr-only, .visually-hidden, .skip-link"
    ", .screen-reader-text"
)
_HIDING = (
    r"(?i)display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?:font-size|opacity)\s*:\s*0(?!\.?[1-9])"
)
_CHROME = (
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|newsletter|subscribe|sidebar|breadcrumbs?|share|sharing|social|promo"
    r"|advert\w*|ads?|banner|popup|modal|related|recommended|pagination|pager|toolbar|menu|navbar|nav|toc"
    r"|table-of-contents|edit-page|feedback|comment-form|masthead|skip)(?:$|[\s_-])"
)
_ADMONITION = r"note|tip|warning|caution|danger|important|admonition|callout|alert|hint|info"
_MAIN = (
    *("[itemprop=articleBody]", ".markdown-body", ".s-prose", "[role=main]", "main", "article"),
    *(
        "#content",
        "#main-content",
        "#bodyContent",
        ".post-content",
        ".entry-content",
        ".document",
        ".content",
    ),
)
_KEEP = {"html", "body", "main", "article"}
_VOID = r"area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|p|li|td|th|tr|dt|dd|option"
_ANCHOR = "tauanchor7f3a"


def convert_html(source: str, url: str, fragment: str = "") -> HtmlResult:
    """Convert a page; one that is nested too deeply becomes plain text."""
    source = source.replace("\0", "")
    if _depth(source) > MAX_DEPTH:
        return HtmlResult(text=plain_text(source), notes=["the page is nested too deeply; this is its text"])
    tree = LexborHTMLParser(source)
    if tree.body is None:
        return HtmlResult(text="")
    base = tree.css_first("base[href]")
    root_url = _join(url, (base.attributes.get("href") if base else "") or "")
    head = _title(tree)
    alternates = _alternates(tree, root_url)
    scripts = len(tree.css("script"))
    empty_root = any(
        not node.text(strip=True) for node in tree.css("#root, #app, #__next, #__nuxt, [data-reactroot]")
    )
    hidden = _drop_hidden(tree) + source.count("<!--")
    _drop_chrome(tree)
    main = _find_main(tree, tree.body)
    _prepare_links(main, root_url)
    _prepare_code(main)
    if fragment and (target := _by_id(tree, fragment)) is not None:
        target.insert_before(_ANCHOR)
    documents = _documents(main)
    text = _render(main.html or "")
    before, found, after = text.partition(_ANCHOR)
    notes = []
    if found and after.strip():
        line = before.rpartition("\n")[2]
        text = f"{line if line.strip('# ') == '' else ''}{after}"
        notes.append(f"starts at #{fragment}")
    else:
        text = before + after
    text, invisible = re.subn(INVISIBLE, "", text)
    has_title = head and head.split(" ")[0] in text[:500]
    size = len(text.strip())
    return HtmlResult(
        text=text if has_title or not head else f"# {head}\n\n{text}",
        title=head,
        alternates=alternates,
        documents=documents,
        hidden=hidden + bool(invisible),
        notes=notes,
        needs_script=size < POOR_CHARS and (empty_root or scripts > 2),
    )


def _depth(source: str) -> int:
    depth = most = 0
    for match in re.finditer(rf"<(/?)(?!(?:{_VOID})\b)[a-zA-Z][\w:-]*[^<>]{{0,2000}}?(/?)>", source):
        if match[1]:
            depth = max(depth - 1, 0)
        elif not match[2]:
            depth += 1
            most = max(most, depth)
    return most


def _title(tree: LexborHTMLParser) -> str:
    node = tree.css_first("title")
    text = re.sub(r"\s+", " ", node.text() if node else "").strip()
    return text[:300]


def _alternates(tree: LexborHTMLParser, url: str) -> list[tuple[str, str]]:
    found = []
    for node in tree.css("link[rel~=alternate][href]"):
        kind = (node.attributes.get("type") or "").lower()
        if "markdown" in kind or "rss" in kind or "atom" in kind or kind == "application/feed+json":
            found.append((kind, _join(url, node.attributes.get("href") or "")))
    return found[:10]


def _drop_hidden(tree: LexborHTMLParser) -> int:
    hidden = 0
    nodes = [node for node in tree.css("[style]") if re.search(_HIDING, node.attributes["style"] or "")]
    for selector in _hiding_selectors(" ".join(node.text() for node in tree.css("style"))):
        nodes += tree.css(selector)
    for node in nodes:
        node.attrs["hidden"] = ""
    for node in _inner_first(tree, "[hidden], [aria-hidden=true]"):
        if node.tag not in _KEEP:
            hidden += bool(node.text(strip=True)) and node.attributes.get("aria-hidden") != "true"
            node.decompose()
    for node in _inner_first(tree, "noscript"):
        node.decompose()
    return hidden


def _inner_first(tree: LexborHTMLParser, selector: str) -> list[LexborNode]:
    """Elements to drop: one that is inside another is gone with it, and must not be looked at again."""
    return list(reversed(tree.css(selector)))


def _hiding_selectors(styles: str) -> list[str]:
    """Classes and ids that a style sheet of the page hides, unless it also has rules that may show them."""
    always = re.sub(r"@[^{};]{0,200}\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", styles[:MAX_STYLE_CHARS])
    rules = re.findall(r"([^{}]{1,200})\{([^{}]*)\}", always)
    names = [name.strip() for names, body in rules if re.search(_HIDING, body) for name in names.split(",")]
    return [name for name in names[:100] if re.fullmatch(r"[.#][\w-]+", name) and styles.count(name) == 1]


def _drop_chrome(tree: LexborHTMLParser) -> None:
    for node in _inner_first(tree, _NOISE):
        if node.tag not in _KEEP:
            node.decompose()
    in_main = {node.mem_id for node in tree.css("main *, article *, [role=main] *")}
    for node in _inner_first(tree, "header, footer, aside"):
        names = f"{node.attributes.get('class') or ''}"
        is_note = node.tag == "aside" and re.search(_ADMONITION, names)
        if not is_note and (node.tag != "header" or node.mem_id not in in_main):
            node.decompose()
    for node in _inner_first(tree, "div, section, ul, ol, p, span, form, table"):
        attributes = node.attributes
        names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
        if names != " " and re.search(_CHROME, names) and not node.css_first("main, article, h1, pre"):
            node.decompose()


def _find_main(tree: LexborHTMLParser, body: LexborNode) -> LexborNode:
    total = len(body.text()) or 1
    for selector in _MAIN:
        found = tree.css(selector)
        if len(found) == 1 and len(found[0].text()) >= MIN_SHARE * total:
            return found[0]
        if len(found) > 1 and selector != "article":
            best = max(found, key=lambda node: len(node.text()))
            if len(best.text()) >= 0.6 * total:
                return best
    return body


def _prepare_links(main: LexborNode, url: str) -> None:
    for name in ("href", "src"):
        for node in main.css(f"[{name}]"):
            value = (node.attributes.get(name) or "").strip()
            if value.lower().startswith(("data:", "javascript:", "vbscript:")):
                node.decompose() if name == "src" else node.unwrap()
            else:
                node.attrs[name] = _join(url, value)


def _prepare_code(main: LexborNode) -> None:
    """Put the language where the renderer looks for it; drop line numbers."""
    for node in main.css("td.linenos, .line-numbers-rows, .lineno, .gutter, .linenodiv"):
        node.decompose()
    for pre in main.css("pre"):
        language = ""
        element: LexborNode | None = pre
        for _ in range(3):
            if element is None:
                break
            names = f"{element.attributes.get('class') or ''} {element.attributes.get('data-lang') or ''}"
            match = re.search(r"(?:language|lang|highlight(?:-source)?|brush:)[-\s]([\w+#.-]+)", names)
            if match and match[1] not in ("default", "notranslate", "text", "none"):
                language = match[1]
                break
            element = element.parent
        code = pre.css_first("code")
        if language and code is None:
            pre.inner_html = f'<code class="language-{language}">{pre.inner_html}</code>'
        elif language and code is not None:
            code.attrs["class"] = f"language-{language}"


def _by_id(tree: LexborHTMLParser, fragment: str) -> LexborNode | None:
    if not re.fullmatch(r"[\w.:-]+", fragment):
        return None
    return tree.css_first(f'[id="{fragment}"]') or tree.css_first(f'[name="{fragment}"]')


def _documents(main: LexborNode) -> list[str]:
    found = (node.attributes.get("href") or "" for node in main.css("a[href]"))
    files = (link for link in found if re.search(r"\.(?:pdf|docx|pptx|xlsx|epub)(?:[?#]|$)", link.lower()))
    return list(dict.fromkeys(files))[:5]


def _render(source: str) -> str:
    options = html_to_markdown.ConversionOptions(
        extract_metadata=False, max_depth=MAX_DEPTH, heading_style="atx", code_block_style="backticks"
    )
    text = html_to_markdown.convert(source, options).content or ""
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _join(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:
        return link
