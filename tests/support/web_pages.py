"""Web pages of 20 kinds with marked text: what a reader came for, and the chrome around it."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

WORDS = (
    *("a", "and", "between", "data", "engine", "every", "first", "garden", "in", "keeps", "large", "light"),
    *(
        "number",
        "of",
        "often",
        "other",
        "paper",
        "reads",
        "report",
        "river",
        "second",
        "sends",
        "small",
        "system",
        "table",
        "the",
        "users",
        "valley",
        "value",
        "which",
        "winter",
        "writes",
    ),
)
KEPT, DROPPED = "keep", "chrome"


@dataclass(frozen=True)
class MarkedPage:
    """Text to keep has words such as `keep7x`, text to drop such as `chrome7x`."""

    kind: str
    html: str

    def words(self, mark: str) -> list[str]:
        return sorted(set(re.findall(rf"\b{mark}\d+x", self.html)))


class PageText:
    """Sentences with marks, numbered."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.number = 0

    def _sentence(self, mark: str, least: int, most: int) -> str:
        self.number += 1
        words = self.rng.choices(WORDS, k=self.rng.randint(least, most))
        words.insert(self.rng.randrange(len(words)), f"{mark}{self.number}x")
        return " ".join(words).capitalize().replace(mark.capitalize(), mark) + "."

    def line(self) -> str:
        return self._sentence(KEPT, 3, 7)

    def text(self, sentences: int = 4) -> str:
        return " ".join(self._sentence(KEPT, 8, 18) for _ in range(sentences))

    def chrome(self) -> str:
        return self._sentence(DROPPED, 2, 6)

    def times(self, part: Callable[[], str], least: int, most: int) -> str:
        return "\n".join(part() for _ in range(self.rng.randint(least, most)))

    # Parts of pages

    def p(self) -> str:
        return f"<p>{self.text(self.rng.randint(2, 5))}</p>"

    def linked(self) -> str:
        return (
            f'<p>{self.text(2)} <a href="../other?a=1&amp;b=2">{self.line()}</a> <em>{self.line()}</em></p>'
        )

    def items(self) -> str:
        inner = f"<ul><li>{self.line()}</li><li><code>{self.line()}</code></li></ul>"
        return f"<ul><li>{self.line()}</li><li><p>{self.line()}</p>{inner}</li><li>{self.line()}</li></ul>"

    def code(self) -> str:
        body = f"def {self.rng.choice(WORDS)}(x):\n    # {self.line()}\n    return x &lt; 1\n"
        return f'<pre><code class="language-python">{body}</code></pre>'

    def highlighted(self) -> str:
        rows = "".join(
            f'<span class="line"><span class="k">let</span> {word} <span class="c">// {self.line()}'
            "</span>\n</span>"
            for word in self.rng.choices(WORDS, k=3)
        )
        return f'<div class="highlight-js"><div class="highlight"><pre><span></span>{rows}</pre></div></div>'

    def table(self) -> str:
        def row() -> str:
            return f"<tr><td>{self.line()}</td><td>{self.line()}</td></tr>"

        head = f"<thead><tr><th>{self.line()}</th><th>{self.line()}</th></tr></thead>"
        return f"<table>{head}<tbody>{self.times(row, 2, 6)}</tbody></table>"

    def section(self) -> str:
        parts = (self.p, self.linked, self.items, self.code, self.table, self.p)
        body = "\n".join(self.rng.choice(parts)() for _ in range(self.rng.randint(2, 4)))
        number = self.rng.randint(1, 999)
        return f'<h2 id="s{number}">{self.line()}<a class="headerlink" href="#s{number}">¶</a></h2>\n{body}'

    def links(self) -> str:
        return "".join(f'<li><a href="/{n}">{self.chrome()}</a></li>' for n in range(self.rng.randint(3, 9)))

    def nav(self) -> str:
        return f'<nav aria-label="Main"><ul>{self.links()}</ul></nav>'

    def banner(self) -> str:
        return (
            f'<header role="banner"><a href="/">{self.chrome()}</a>{self.nav()}<form role="search">'
            f'<input placeholder="Search"><button>{self.chrome()}</button></form></header>'
        )

    def footer(self) -> str:
        return f"<footer><ul>{self.links()}</ul><p>© {self.chrome()}</p></footer>"

    def cookies(self) -> str:
        kind = self.rng.choice(("cookie-banner", "gdpr-consent", "CookieConsent cookie-notice"))
        return (
            f'<div class="{kind}" role="dialog"><p>{self.chrome()}</p><button>{self.chrome()}</button></div>'
        )

    def sidebar(self) -> str:
        return f'<aside class="sidebar"><h3>{self.chrome()}</h3><ul>{self.links()}</ul></aside>'

    def share(self) -> str:
        return (
            f'<div class="share-buttons"><a href="#">{self.chrome()}</a><a href="#">{self.chrome()}</a></div>'
        )

    def scripts(self) -> str:
        state = ",".join(f'"{self.chrome()}"' for _ in range(5))
        return (
            f"<script>window.__STATE__=[{state}]</script><style>.x{{color:red}}</style><noscript>"
            f"{self.chrome()}</noscript>"
        )

    def page(self, body: str, *, head: str = "") -> str:
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>'
            f"{self.rng.choice(WORDS)}</title>{head}{self.scripts()}</head><body>{body}</body>"
            "</html>"
        )


def article(t: PageText) -> str:
    more = f'<section class="related-posts"><h3>{t.chrome()}</h3><ul>{t.links()}</ul></section>'
    body = f"<h1>{t.line()}</h1>{t.share()}{t.times(t.p, 4, 9)}{t.times(t.section, 1, 3)}"
    return t.page(f"{t.banner()}{t.cookies()}<main><article>{body}</article>{more}</main>{t.footer()}")


def news(t: PageText) -> str:
    def ad() -> str:
        return f'<div class="ad advertisement">{t.chrome()}</div>'

    body = "".join(t.p() + (ad() if n % 2 else "") for n in range(8))
    sign_up = f'<div class="newsletter-signup"><p>{t.chrome()}</p><input><button>{t.chrome()}</button></div>'
    return t.page(
        f'{t.banner()}<div id="page"><div itemprop="articleBody"><h1>{t.line()}</h1>{body}{sign_up}</div>'
        f'<div class="sidebar-right sidebar">{t.links()}</div></div>{t.footer()}{t.cookies()}'
    )


def sphinx(t: PageText) -> str:
    side = f'<div class="sphinxsidebar" role="navigation"><h3>{t.chrome()}</h3><ul>{t.links()}</ul></div>'
    note = f'<div class="admonition note"><p class="admonition-title">Note</p><p>{t.line()}</p></div>'
    body = (
        f"<section><h1>{t.line()}<a class='headerlink'>¶</a></h1>{t.p()}{note}{t.highlighted()}"
        f"{t.times(t.section, 2, 4)}</section>"
    )
    return t.page(
        f'<div class="related" role="navigation"><ul>{t.links()}</ul></div>'
        '<div class="document"><div class="documentwrapper">'
        f'<div class="body" role="main">{body}</div></div>{side}</div>{t.footer()}'
    )


def docusaurus(t: PageText) -> str:
    crumbs = f'<nav class="theme-doc-breadcrumbs"><ul>{t.links()}</ul></nav>'
    note = f'<div class="theme-admonition alert alert--info"><p>{t.line()}</p></div>'
    pager = f'<nav class="pagination-nav"><a>{t.chrome()}</a></nav>'
    toc = f'<div class="table-of-contents"><ul>{t.links()}</ul></div>'
    content = f"<header><h1>{t.line()}</h1></header>{t.p()}{note}{t.times(t.section, 2, 4)}"
    return t.page(
        f'<div id="__docusaurus"><div class="skip-link">{t.chrome()}</div>{t.nav()}'
        f'<aside class="theme-doc-sidebar">{t.nav()}</aside>'
        f'<main><article>{crumbs}<div class="theme-doc-markdown markdown">{content}</div>'
        f"<footer><a>{t.chrome()}</a></footer></article>{pager}{toc}</main>{t.footer()}</div>"
    )


def mdbook(t: PageText) -> str:
    return t.page(
        f'<nav id="sidebar" class="sidebar"><ol>{t.links()}</ol></nav><div id="page-wrapper">'
        f'<div id="menu-bar" class="menu-bar"><button>{t.chrome()}</button></div>'
        f'<div id="content" class="content"><main><h1>{t.line()}</h1>{t.times(t.section, 2, 5)}'
        f'</main><nav class="nav-wrapper"><a>{t.chrome()}</a></nav></div></div>'
    )


def readme(t: PageText) -> str:
    return t.page(
        f'{t.banner()}<div class="repository-content"><div class="file-navigation">{t.nav()}'
        '</div><div class="Box"><article class="markdown-body">'
        f"<h1>{t.line()}</h1>{t.p()}{t.code()}{t.times(t.section, 2, 4)}</article></div>"
        f'<div class="BorderGrid sidebar"><h2>{t.chrome()}</h2><p>{t.chrome()}</p></div></div>'
        f"{t.footer()}"
    )


def wiki(t: PageText) -> str:
    info = f'<table class="infobox"><tr><th>{t.line()}</th><td>{t.line()}</td></tr></table>'
    return t.page(
        f'<div id="mw-head">{t.nav()}</div><div id="content" role="main"><h1>{t.line()}</h1>'
        f'<div id="bodyContent">{info}{t.times(t.linked, 3, 6)}'
        f'<div id="toc" class="toc" role="navigation"><ul>{t.links()}</ul></div>'
        f'{t.times(t.section, 2, 4)}</div></div><div id="mw-panel">{t.nav()}</div>{t.footer()}'
    )


def questions(t: PageText) -> str:
    def answer() -> str:
        return f'<div class="answer"><div class="s-prose"><p>{t.text()}</p>{t.code()}</div></div>'

    return t.page(
        f'{t.banner()}<div id="content"><h1>{t.line()}</h1><div id="mainbar">'
        f'<div class="question"><div class="s-prose">{t.p()}{t.code()}</div></div>'
        f'{t.times(answer, 2, 4)}</div><div id="sidebar" class="sidebar">{t.links()}</div>'
        f"</div>{t.cookies()}{t.footer()}"
    )


def forum(t: PageText) -> str:
    def post() -> str:
        return (
            f'<div class="topic-post"><div class="names">{t.line()}</div><div class="cooked"><p>'
            f"{t.text()}</p></div><blockquote>{t.line()}</blockquote></div>"
        )

    related = f'<div class="related-topics related"><h3>{t.chrome()}</h3><ul>{t.links()}</ul></div>'
    return t.page(
        f'{t.banner()}<div id="main-outlet"><h1>{t.line()}</h1>{t.times(post, 3, 8)}{related}'
        f"</div>{t.footer()}"
    )


def reference(t: PageText) -> str:
    def function() -> str:
        return (
            f"<section><h3><code>{t.line()}</code></h3><dl><dt>{t.line()}</dt><dd>{t.line()}</dd>"
            f"</dl>{t.code()}</section>"
        )

    return t.page(
        f'{t.banner()}<div class="layout"><div class="sidebar-container"><aside>{t.nav()}'
        f'</aside></div><main id="main-content"><h1>{t.line()}</h1>{t.p()}{t.table()}'
        f"{t.times(function, 3, 8)}</main></div>{t.footer()}"
    )


def changelog(t: PageText) -> str:
    def release() -> str:
        return f"<h2>{t.line()}</h2>{t.items()}{t.items()}"

    return t.page(
        f"{t.banner()}<main><h1>{t.line()}</h1>{t.times(release, 3, 8)}</main>{t.footer()}{t.cookies()}"
    )


def recipe(t: PageText) -> str:
    steps = f"<ol>{''.join(f'<li>{t.text(2)}</li>' for _ in range(5))}</ol>"
    promo = f'<div class="promo"><a>{t.chrome()}</a></div>'
    return t.page(
        f"{t.banner()}<main>{promo}<article><h1>{t.line()}</h1>{t.p()}<figure>"
        f'<img src="a.jpg" alt="{t.line()}"><figcaption>{t.line()}</figcaption></figure>'
        f"{t.items()}{steps}{t.share()}</article></main>{t.sidebar()}{t.footer()}"
    )


def numbers(t: PageText) -> str:
    return t.page(
        f'{t.banner()}<div id="content"><h1>{t.line()}</h1>{t.p()}{t.times(t.table, 3, 6)}</div>{t.footer()}'
    )


def manual(t: PageText) -> str:
    def option() -> str:
        return f"<dt><b>{t.line()}</b></dt><dd>{t.text(2)}</dd>"

    return t.page(
        f'<div class="page-top">{t.nav()}</div><h1>{t.line()}</h1><h2>{t.line()}</h2><pre>'
        f"{t.line()}\n    {t.line()}</pre><dl>{t.times(option, 4, 12)}</dl>{t.footer()}"
    )


def answers(t: PageText) -> str:
    def details() -> str:
        return f"<details><summary>{t.line()}</summary><p>{t.text()}</p></details>"

    return t.page(
        f'{t.banner()}<main><h1>{t.line()}</h1>{t.times(details, 4, 10)}<div class="feedback">'
        f"{t.chrome()}</div></main>{t.footer()}"
    )


def landing(t: PageText) -> str:
    def feature() -> str:
        return f'<div class="card"><h3>{t.line()}</h3><p>{t.text(2)}</p></div>'

    return t.page(
        f'{t.cookies()}{t.banner()}<div class="hero"><h1>{t.line()}</h1><p>{t.text(2)}</p>'
        f'</div><div class="grid">{t.times(feature, 3, 9)}</div>{t.footer()}'
    )


def plain(t: PageText) -> str:
    """Text in one <pre>, as RFCs are."""
    body = "\n\n".join(f"{n}.  {t.line()}\n\n   {t.text()}" for n in range(1, 12))
    return t.page(f'<div class="noprint">{t.nav()}</div><pre class="content">{body}</pre>')


def soup(t: PageText) -> str:
    """Elements without meaning, and names that are hashes."""
    body = "".join(f'<div class="css-{n}1k3f"><div><span>{t.text()}</span></div></div>' for n in range(8))
    return t.page(
        f'<div id="root"><div class="css-1ab">{t.nav()}</div><div class="css-9zz">'
        f'<div class="css-0qq"><h1>{t.line()}</h1>{body}</div></div><div>{t.footer()}</div>'
        "</div>"
    )


def paper(t: PageText) -> str:
    notes = f'<section class="footnotes"><ol><li id="fn1">{t.line()}</li></ol></section>'
    return t.page(
        f'{t.nav()}<div class="ltx_page_main"><article class="ltx_document"><h1>{t.line()}</h1>'
        f'<div class="ltx_abstract"><h6>Abstract</h6><p>{t.text()}</p></div>'
        f"{t.times(t.section, 3, 6)}{notes}</article></div>{t.footer()}"
    )


def product(t: PageText) -> str:
    reviews = f"<section><h2>{t.line()}</h2>{t.times(t.p, 2, 4)}</section>"
    return t.page(
        f'{t.banner()}<main><div class="breadcrumbs">{t.chrome()}</div><h1>{t.line()}</h1><p>'
        f"{t.text(3)}</p>{t.table()}{t.items()}{reviews}"
        f'<div class="recommended"><h3>{t.chrome()}</h3><ul>{t.links()}</ul></div></main>'
        f'{t.footer()}<div class="modal popup">{t.chrome()}</div>'
    )


KINDS: dict[str, Callable[[PageText], str]] = {
    maker.__name__: maker
    for maker in (
        *(article, news, sphinx, docusaurus, mdbook, readme, wiki, questions, forum, reference),
        *(changelog, recipe, numbers, manual, answers, landing, plain, soup, paper, product),
    )
}


def marked_pages(each: int = 10) -> list[MarkedPage]:
    """The same ones every time."""
    return [
        MarkedPage(kind, make(PageText(random.Random(f"{kind} {seed}"))))
        for kind, make in KINDS.items()
        for seed in range(each)
    ]


def shares(pages: list[tuple[MarkedPage, str]]) -> tuple[float, float]:
    """Of pages with what was made of them: the share of content kept, and of chrome dropped."""
    kept = dropped = content = chrome = 0
    for page, text in pages:
        found = set(re.findall(r"\b(?:keep|chrome)\d+x", text))
        wanted, unwanted = page.words(KEPT), page.words(DROPPED)
        kept += sum(word in found for word in wanted)
        dropped += sum(word not in found for word in unwanted)
        content += len(wanted)
        chrome += len(unwanted)
    return kept / content, dropped / chrome
