"""Sites as common generators write them, each with some faults that such sites really have.

The markup follows what WordPress, Shopify, Sphinx, single-page applications and old hand-made sites emit; the labels were
written before any rule was run on them.
"""

# ruff: noqa: E501  # markup stays as its generators write it

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from comity.model.audit import FindingCode as Code
from tests.audit.sites.labelled import HTTP_ORIGIN, ORIGIN, Fault, LabelledSite, PlainRoute
from tests.audit.sites.planted import HEADERS, WORDS, redirect, text

VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">'


def prose(seed: str, words: int = 150) -> str:
    chance = random.Random(seed)
    return " ".join(chance.choice(WORDS) for _ in range(words))


def html(body: str, status: int = 200, delay_s: float = 0.0, **headers: str) -> PlainRoute:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return PlainRoute(body, status, {**HEADERS, **named}, delay_s)


def xml(body: str) -> PlainRoute:
    return PlainRoute(f'<?xml version="1.0" encoding="UTF-8"?>{body}', 200, {"Content-Type": "application/xml"})


def urlset(entries: Sequence[str]) -> PlainRoute:
    listed = "".join(f"<url><loc>{ORIGIN}{path}</loc></url>" for path in entries)
    return xml(f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>')


def faults(**by_code: Sequence[str]) -> tuple[Fault, ...]:
    return tuple(Fault(Code(code), path) for code, paths in by_code.items() for path in paths)


# -- a blog by WordPress -------------------------------------------------------------------------------------------


def wordpress_blog() -> LabelledSite:
    """Archives, series of pages, a feed and an API beside the posts; no plugin writes descriptions."""
    posts = {"oak": "news", "ash": "news", "elm": "tools", "fir": "tools", "yew": "news"}

    def wp(path: str, title: str, main: str, canonical: str | None = None, head: str = "") -> PlainRoute:
        body = f"""<!DOCTYPE html>
<html lang="en-US" class="no-js"><head><meta charset="UTF-8">{VIEWPORT}<title>{title} &#8211; Timber Notes</title>
<meta name='robots' content='max-image-preview:large' /><link rel='dns-prefetch' href='//s.w.org' />
<link rel="alternate" type="application/rss+xml" title="Feed" href="{ORIGIN}/feed/" />
<link rel="https://api.w.org/" href="{ORIGIN}/wp-json/" /><meta name="generator" content="WordPress 6.4.2" />
<link rel="canonical" href="{ORIGIN}{canonical or path}" />{head}
<style id='wp-block-library-css'>.wp{{display:block}}</style></head>
<body class="archive wp-embed-responsive"><a class="skip-link screen-reader-text" href="#content">Skip</a>
<header class="wp-block-template-part"><p class="wp-block-site-title"><a href="{ORIGIN}/" rel="home">Timber Notes</a></p>
<nav class="wp-block-navigation"><ul><li><a href="{ORIGIN}/category/news/">News</a></li>
<li><a href="{ORIGIN}/category/tools/">Tools</a></li><li><a href="{ORIGIN}/about/">About</a></li></ul></nav></header>
<main id="content">{main}</main><footer><p>Proudly powered by <a href="https://wordpress.org" rel="nofollow">WordPress</a>
</p></footer><script src='{ORIGIN}/wp-includes/js/wp-embed.min.js?ver=6.4.2'></script></body></html>"""
        return html(body, Link=f'<{ORIGIN}/wp-json/>; rel="https://api.w.org/"')

    def teaser(name: str) -> str:
        return (
            f'<article class="post-{name} type-post"><h2 class="wp-block-post-title"><a href="{ORIGIN}/{name}-wood/">On '
            f"{name} wood</a></h2><p>{prose(name + 'teaser', 45)} [&hellip;]</p></article>"
        )

    def post(name: str, category: str) -> str:
        comments = (
            f'<div id="respond"><h2 id="reply-title">Leave a Reply</h2><a rel="nofollow" class="comment-reply-link" '
            f'href="{ORIGIN}/{name}-wood/?replytocom=7#respond">Reply</a></div>'
        )
        picture = f'<figure class="wp-block-image"><img src="/wp-content/uploads/{name}.jpg" alt="A board of {name}"></figure>'
        extra = ""
        if name == "elm":  # an old post: a page that was deleted, and a picture without a description
            extra = f'<a href="{ORIGIN}/2011/03/old-saw/">the old saw</a><img src="/wp-content/uploads/saw.jpg">'
        tags = f'<a href="{ORIGIN}/tag/tools/" rel="tag">tools</a>' if category == "tools" else ""
        return (
            f'<h1 class="wp-block-post-title">On {name} wood</h1>{picture}<div class="entry-content"><p>{prose(name)}</p>{extra}'
            f"</div>{tags}{comments}"
        )

    names = list(posts)
    routes = {
        "/": wp("/", "Notes of a carpenter", "<h1>Timber Notes</h1>" + "".join(map(teaser, names[:3]))
                + f'<nav class="pagination"><a class="next page-numbers" href="{ORIGIN}/page/2/">Next</a></nav>'),
        "/page/2/": wp("/page/2/", "Notes of a carpenter &#8211; Page 2", "<h1>Timber Notes</h1>"
                       + "".join(map(teaser, names[3:])) + f'<a class="prev page-numbers" href="{ORIGIN}/">Previous</a>'),
        "/about/": wp("/about/", "About", f"<h1>About</h1><p>{prose('about')}</p>"),
        "/tag/tools/": wp("/tag/tools/", "tools", "<h1>Tag: <span>tools</span></h1>"
                          + "".join(teaser(each) for each, kind in posts.items() if kind == "tools")
                          + f"<p>{prose('tag', 60)}</p>"),
        "/feed/": xml(f'<rss version="2.0"><channel><title>Timber Notes</title><link>{ORIGIN}</link></channel></rss>'),
        "/wp-json/": PlainRoute("{}", 200, {"Content-Type": "application/json"}),
        "/robots.txt": text("User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n\n"
                            f"Sitemap: {ORIGIN}/wp-sitemap.xml\n"),
        "/wp-sitemap.xml": xml('<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>'
                               f"{ORIGIN}/wp-sitemap-posts-post-1.xml</loc></sitemap><sitemap><loc>"
                               f"{ORIGIN}/wp-sitemap-taxonomies-1.xml</loc></sitemap></sitemapindex>"),
        "/wp-sitemap-posts-post-1.xml": urlset(["/", "/about/", *(f"/{each}-wood/" for each in names)]),
        "/wp-sitemap-taxonomies-1.xml": urlset(["/category/news/", "/category/tools/", "/tag/tools/"]),
    }  # fmt: skip
    for name, category in posts.items():
        routes[f"/{name}-wood/"] = wp(f"/{name}-wood/", f"On {name} wood", post(name, category))
        # The theme answers with the post itself; only the address differs, and names its original.
        routes[f"/{name}-wood/?replytocom=7"] = routes[f"/{name}-wood/"]
    for category in ("news", "tools"):
        listed = "".join(teaser(each) for each, kind in posts.items() if kind == category)
        routes[f"/category/{category}/"] = wp(
            f"/category/{category}/", category.title(), f"<h1>Category: <span>{category.title()}</span></h1>{listed}"
        )
    pages = ["/", "/page/2/", "/about/", "/tag/tools/", "/category/news/", "/category/tools/"]
    return LabelledSite(
        "wordpress_blog",
        routes,
        faults(
            broken_link=["/2011/03/old-saw/"],
            missing_alt=["/elm-wood/"],
            duplicate_title=["/category/tools/", "/tag/tools/"],
            missing_description=[*pages, *(f"/{each}-wood/" for each in names)],
        ),
    )


# -- a shop by Shopify ---------------------------------------------------------------------------------------------


def shopify_shop() -> LabelledSite:
    """Products by several addresses, variants, filters and orders of collections, and a basket."""
    products = ["anvil", "chisel", "mallet", "plane"]

    def shop(path: str, title: str, main: str, canonical: str, head: str = "") -> PlainRoute:
        return html(f"""<!doctype html>
<html class="no-js" lang="en"><head><meta charset="utf-8">{VIEWPORT}<link rel="canonical" href="{ORIGIN}{canonical}">
<link rel="preconnect" href="https://cdn.shopify.com" crossorigin><title>{title} &ndash; Bench &amp; Vice</title>
<meta name="description" content="{title}: {prose(canonical + "d", 12)}."><meta property="og:type" content="product">
<meta property="og:url" content="{ORIGIN}{canonical}">{head}<script>window.Shopify = window.Shopify || {{}};</script></head>
<body class="gradient"><a class="skip-to-content-link" href="#MainContent">Skip to content</a>
<header><a href="/">Bench &amp; Vice</a><nav><a href="/collections/all">Catalog</a><a href="/account">Log in</a>
<a href="/cart" id="cart-icon-bubble">Cart</a></nav></header><main id="MainContent">{main}</main>
<footer><a href="/policies/refund-policy">Refund policy</a><a href="/search">Search</a></footer></body></html>""")

    def product(name: str, path: str) -> PlainRoute:
        offer = {
            "@type": "Offer",
            "price": "19.00",
            "priceCurrency": "EUR",
            "availability": "http://schema.org/InStock",
        }
        data = {"@context": "http://schema.org/", "@type": "Product", "name": name, "image": [f"{ORIGIN}/{name}.jpg"]}
        if name != "mallet":  # its price was never entered
            data["offers"] = [offer]  # type: ignore[assignment]
        variants = "".join(f'<a href="/products/{name}?variant={number}">{number} mm</a>' for number in (41, 42))
        canonical = f"/products/{name}" if name != "plane" else "/products/plane-old"
        main = (
            f'<h1>{name.title()}</h1><img src="//cdn.shopify.com/s/{name}.jpg" srcset="//cdn.shopify.com/s/{name}_2.jpg 2x" '
            f'alt="{name}" loading="lazy">{variants}<p>{prose(name)}</p>'
        )
        head = f'<script type="application/ld+json">{json.dumps(data)}</script>'
        return shop(path, name.title(), main, canonical, head)

    def collection(path: str) -> PlainRoute:
        cards = "".join(f'<li><a href="/collections/all/products/{each}">{each.title()}</a></li>' for each in products)
        filters = (
            '<a href="/collections/all?sort_by=price-ascending" rel="nofollow">By price</a>'
            '<a href="/collections/all?filter.v.price.gte=1&amp;filter.v.price.lte=20">Under 20</a>'
            '<a href="/collections/all?page=2">2</a>'
        )
        own = path if path.endswith("page=2") else "/collections/all"
        title = "Products, page 2" if path.endswith("page=2") else "Products"
        return shop(path, title, f"<h1>Products</h1><p>{prose(path)}</p><ul>{cards}</ul>{filters}", own)

    routes = {
        "/": shop("/", "Tools for wood", f"<h1>Tools for wood</h1><p>{prose('home')}</p><a href='/products/saw'>Saw</a>", "/"),
        "/collections/all": collection("/collections/all"),
        "/collections/all?page=2": collection("/collections/all?page=2"),
        "/collections/all?sort_by=price-ascending": collection("/collections/all"),
        "/collections/all?filter.v.price.gte=1&filter.v.price.lte=20": collection("/collections/all"),
        "/account": redirect("/account/login", 302),
        "/account/login": shop("/account/login", "Account", f"<h1>Login</h1><p>{prose('login', 60)}</p>", "/account/login",
                               '<meta name="robots" content="noindex">'),
        "/search": shop("/search", "Search", f"<h1>Search our site</h1><p>{prose('search', 60)}</p>", "/search"),
        "/policies/refund-policy": shop("/policies/refund-policy", "Refund policy",
                                        f"<h1>Refund policy</h1><p>{prose('refund')}</p>", "/policies/refund-policy"),
        "/products/plane-old": redirect("/products/plane"),
        "/robots.txt": text(
            "# we use Shopify as our ecommerce platform\nUser-agent: *\nDisallow: /admin\nDisallow: /cart\n"
            "Disallow: /checkouts/\nDisallow: /collections/*sort_by*\nDisallow: /*/collections/*sort_by*\n"
            "Disallow: /collections/*+*\nDisallow: /*?*oseid=*\nDisallow: /search\n\nUser-agent: adsbot-google\n"
            f"Disallow: /checkouts/\nDisallow: /cart\n\nSitemap: {ORIGIN}/sitemap.xml\n"
        ),
        "/sitemap.xml": urlset(["/", "/collections/all", *(f"/products/{each}" for each in (*products, "lathe"))]),
    }  # fmt: skip
    for name in products:
        for path in (f"/products/{name}", f"/products/{name}?variant=41", f"/products/{name}?variant=42",
                     f"/collections/all/products/{name}"):  # fmt: skip
            routes[path] = product(name, path)
    mallets = ["/products/mallet", "/products/mallet?variant=41", "/products/mallet?variant=42",
               "/collections/all/products/mallet"]  # fmt: skip
    planes = [each.replace("mallet", "plane") for each in mallets]
    return LabelledSite(
        "shopify_shop",
        routes,
        faults(
            broken_link=["/products/saw"],
            structured_data_incomplete=mallets,
            canonical_to_redirect=planes,
            error_in_sitemap=["/products/lathe"],
            broken_page=["/products/lathe"],
            unlisted_page=["/policies/refund-policy"],
        ),
    )


# -- documentation in versions, by Sphinx ----------------------------------------------------------------------------


def versioned_docs() -> LabelledSite:
    """Three versions of the same pages, of which two name the third as canonical."""
    chapters = ["install", "usage", "faq"]

    def sphinx(version: str, name: str) -> PlainRoute:
        links = "".join(f'<li class="toctree-l1"><a href="{each}.html">{each.title()}</a></li>' for each in chapters)
        links += '<li><a href="missing.html">Removed</a></li>' if (version, name) == ("stable", "faq") else ""
        title = (
            f"{name.title()} &mdash; Loom {version} documentation"
            if name != "index"
            else f"Loom {version} documentation"
        )
        skipped = "<h4>Notes</h4>" if (version, name) == ("stable", "usage") else "<h2>Notes</h2>"
        more = "" if version != "latest" else f"<p>{prose('new in ' + name, 12)}</p>"
        return html(f"""<!DOCTYPE html>
<html class="writer-html5" lang="en"><head><meta charset="utf-8" />{VIEWPORT}<title>{title}</title>
<link rel="canonical" href="{ORIGIN}/en/stable/{name}.html" /><link rel="index" title="Index" href="genindex.html" />
<link rel="search" title="Search" href="search.html" /><meta name="description" content="Loom {version}: {name}, {prose(name, 8)}">
</head><body class="wy-body-for-nav"><nav class="wy-nav-side"><a href="index.html" class="icon icon-home">Loom</a>
<ul>{links}</ul><dl><dt>Versions</dt><dd><a href="/en/latest/{name}.html">latest</a></dd>
<dd><a href="/en/stable/{name}.html">stable</a></dd></dl></nav><section class="wy-nav-content-wrap"><div role="main">
<h1>{name.title()}<a class="headerlink" href="#{name}" title="Link to this heading">¶</a></h1><p>{prose(name)}</p>{skipped}{more}
<a href="../_sources/{name}.rst.txt">View page source</a></div></section></body></html>""")

    routes: dict[str, PlainRoute] = {
        "/": redirect("/en/stable/index.html", 302),
        "/robots.txt": text(f"User-agent: *\nDisallow: /en/v0/ # hidden version\n\nSitemap: {ORIGIN}/sitemap.xml\n"),
    }
    for version in ("stable", "latest"):
        for name in ("index", *chapters):
            routes[f"/en/{version}/{name}.html"] = sphinx(version, name)
    for name in ("index", *chapters):
        routes[f"/en/_sources/{name}.rst.txt"] = text(prose(name))
    listed = [path for path in routes if path.endswith(".html")]
    routes["/sitemap.xml"] = urlset(listed)
    return LabelledSite(
        "versioned_docs",
        routes,
        faults(
            temporary_redirect=["/"],
            broken_link=["/en/stable/missing.html"],
            skipped_heading_level=["/en/stable/usage.html"],
            not_canonical_in_sitemap=[each for each in listed if "/latest/" in each],
        ),
    )


# -- a site in three languages -----------------------------------------------------------------------------------------


def three_languages() -> LabelledSite:
    """hreflang in the pages of one part, and in the sitemap for the other."""
    languages = {"en": "Harbour", "de": "Hafen", "fr": "Port"}

    def page(language: str, name: str, head: str) -> PlainRoute:
        others = "".join(f'<a href="/{each}/{name}" hreflang="{each}" lang="{each}">{each}</a>' for each in languages)
        links = "".join(f'<a href="/{language}/{each}">{each}</a>' for each in ("boats", "tides", "fees"))
        return html(
            f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">{VIEWPORT}<title>{languages[language]} '
            f'{name}</title><meta name="description" content="{prose(language + name, 10)}"><link rel="canonical" '
            f'href="{ORIGIN}/{language}/{name}">{head}</head><body><nav>{links}{others}</nav><main><h1>{languages[language]}: '
            f"{name}</h1><p>{prose(language + name + 'text')}</p></main></body></html>"
        )

    def alternates(name: str, **codes: str) -> str:
        named = {**{each: each for each in languages}, **codes}
        links = "".join(
            f'<link rel="alternate" hreflang="{code}" href="{ORIGIN}/{to}/{name}" />'
            for code, to in named.items()
            if to
        )
        return links + f'<link rel="alternate" hreflang="x-default" href="{ORIGIN}/en/{name}" />'

    routes = {"/": redirect("/en/boats", 302)}
    for language in languages:
        routes[f"/{language}/boats"] = page(language, "boats", alternates("boats"))
        own = alternates("tides")
        if language == "de":  # it forgets the English page
            own = f'<link rel="alternate" hreflang="de" href="{ORIGIN}/de/tides" /><link rel="alternate" hreflang="fr" href="{ORIGIN}/fr/tides" />'
        if language == "fr":
            own = alternates("tides", **{"en-UK": "en"})
        routes[f"/{language}/tides"] = page(language, "tides", own)
        routes[f"/{language}/fees"] = page(language, "fees", "")

    def entry(path: str, named: Sequence[str]) -> str:
        links = "".join(
            f'<xhtml:link rel="alternate" hreflang="{each}" href="{ORIGIN}/{each}/fees"/>' for each in named
        )
        return f"<url><loc>{ORIGIN}{path}</loc>{links}</url>"

    entries = "".join(entry(f"/{each}/{name}", ()) for each in languages for name in ("boats", "tides"))
    entries += (
        entry("/en/fees", ("en", "de", "fr", "es")) + entry("/de/fees", ("en", "de", "fr")) + entry("/fr/fees", ("fr",))
    )
    routes["/sitemap.xml"] = xml(
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml="http://www.w3.org/1999/xhtml">'
        f"{entries}</urlset>"
    )
    routes["/robots.txt"] = text(f"User-agent: *\nDisallow: /private/\nSitemap: {ORIGIN}/sitemap.xml\n")
    return LabelledSite(
        "three_languages",
        routes,
        faults(
            temporary_redirect=["/"],
            hreflang_no_return=["/en/tides", "/en/fees", "/de/fees"],
            hreflang_invalid=["/fr/tides"],
            hreflang_to_error=["/en/fees"],
        ),
    )


# -- a single-page application -------------------------------------------------------------------------------------------


def single_page_app() -> LabelledSite:
    """One shell for every address; without scripts there is neither text nor a link."""
    shell = html(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><link rel="icon" href="/favicon.ico"/>{VIEWPORT}'
        '<meta name="theme-color" content="#000000"/><meta name="description" content="Web site created using '
        'create-react-app"/><link rel="apple-touch-icon" href="/logo192.png"/><link rel="manifest" href="/manifest.json"/>'
        '<title>React App</title><script defer="defer" src="/static/js/main.8f3c2a.js"></script><link '
        'href="/static/css/main.f855e6.css" rel="stylesheet"></head><body><noscript>You need to enable JavaScript to run '
        'this app.</noscript><div id="root"></div></body></html>'
    )
    paths = ["/", "/pricing", "/team", "/contact"]
    routes = dict.fromkeys(paths, shell)
    routes["/robots.txt"] = text(
        f"# https://www.robotstxt.org/robotstxt.html\nUser-agent: *\nDisallow:\n\nSitemap: {ORIGIN}/sitemap.xml\n"
    )
    routes["/sitemap.xml"] = urlset(paths)
    return LabelledSite(
        "single_page_app",
        routes,
        faults(
            thin_page=paths, missing_h1=paths, duplicate_title=paths, duplicate_description=paths, orphan_page=paths[1:]
        ),
    )


# -- an old site that moved to https --------------------------------------------------------------------------------------


def old_site_moved_to_https() -> LabelledSite:
    """Tables, frames and addresses by http; redirects on redirects; error pages that answer 200; a file of everything."""

    def old(path: str, title: str, main: str, head: str = "", language: str = ' lang="en"') -> PlainRoute:
        return html(
            f'<HTML{language}><HEAD><META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=utf-8">{VIEWPORT}<TITLE>{title}</TITLE>'
            f'<META NAME="Description" CONTENT="{title}: {prose(path + "d", 9)}">{head}</HEAD><BODY BGCOLOR="#ffffff"><TABLE><TR><TD>'
            f'<A HREF="/">Home</A></TD></TR></TABLE><H1>{title}</H1><P>{prose(path)}</P>{main}</BODY></HTML>'
        )

    links = "".join(
        f'<A HREF="{each}">{each}</A> '
        for each in ("/boats.html", "/first", "/round-a", "/gone-item.html", "/errors.html", "/everything.html", "/slow.cgi",
                     "/frames.html", "//127.0.0.1.example/x", "mailto:captain@example.org", "javascript:void(0)", "ftp://example.org/f")
    )  # fmt: skip
    routes = {
        "/": old("/", "The old harbour", links + f'<A HREF="{HTTP_ORIGIN}/boats.html">boats</A>'),
        "/boats.html": old(
            "/boats.html", "All our boats", f'<IMG SRC="{HTTP_ORIGIN}/boat.gif" ALT="A boat">'
            '<SCRIPT SRC="http://counter.example/c.js"></SCRIPT><A HREF="http://other.example/">a friend</A>'
        ),
        "/frames.html": old(
            "/frames.html", "The weather here", '<IFRAME SRC="http://weather.example/today"></IFRAME>',
            '<META HTTP-EQUIV="Content-Security-Policy" CONTENT="upgrade-insecure-requests">'
        ),
        "/first": redirect("/second"),
        "/second": redirect("/third"),
        "/third": old("/third", "The third pier", ""),
        "/round-a": redirect("/round-b"),
        "/round-b": redirect("/round-a"),
        "/gone-item.html": html(
            f'<html lang="en"><head>{VIEWPORT}<title>Item not found</title><meta name="description" content="Sorry."></head>'
            "<body><h1>Sorry, this item is no longer available</h1><p>Try the <a href='/'>home page</a>.</p></body></html>"
        ),
        "/errors.html": old("/errors.html", "How to design a 404 page that sailors like", ""),
        "/everything.html": old("/everything.html", "Everything on one page", f"<P>{prose('everything', 50_000)}</P>"),
        "/slow.cgi": PlainRoute(old("/slow.cgi", "Tides by the minute", "").body, 200, HEADERS, 2.0),
        "/robots.txt": text(
            "User-agent : *\nDisallow: /cgi-bin/ # scripts\nDisalow: /tmp\nNoindex: /drafts/\nCrawl-delay: 0.02\n"
            "Disallow: /css/\nDisallow: /*.js$\nHost: harbour.example\n"
            f"Sitemap: {ORIGIN}/sitemap.xml\n"
        ),
        "/sitemap.xml": urlset(["/", "/boats.html", "/first", "/frames.html", "/errors.html", "/everything.html", "/slow.cgi", "/third"]),
    }  # fmt: skip
    return LabelledSite(
        "old_site_moved_to_https",
        routes,
        faults(
            mixed_content=["/boats.html"],
            http_link=[f"{HTTP_ORIGIN}/boats.html"],
            redirect_chain=["/first"],
            link_to_redirect=["/first"],
            redirect_in_sitemap=["/first"],
            redirect_loop=["/round-a"],
            soft_404=["/gone-item.html"],
            large_page=["/everything.html"],
            slow_page=["/slow.cgi"],
            robots_syntax=["/robots.txt"],
        ),
        is_secure=True,
    )


# -- odd, and nothing wrong with it ----------------------------------------------------------------------------------------


def odd_and_right() -> LabelledSite:
    """What generators and plug-ins emit and crawlers misread: pictures as headings, pixels, aliases, graphs of data."""
    graph = {
        "@context": "https://schema.org",
        "@graph": [
            {"@type": "Article", "@id": f"{ORIGIN}/post#article", "headline": "A post", "author": {"@id": f"{ORIGIN}/#p"},
             "datePublished": "2026-01-05T09:00:00+00:00", "isPartOf": {"@id": f"{ORIGIN}/post"}},
            {"@type": ["WebPage", "FAQPage"], "@id": f"{ORIGIN}/post", "name": "A post",
             "mainEntity": [{"@type": "Question", "name": "Why?", "acceptedAnswer": {"@type": "Answer", "text": "So."}}]},
            {"@type": "BreadcrumbList", "itemListElement": [
                {"@type": "ListItem", "position": 1, "name": "Home", "item": f"{ORIGIN}/"},
                {"@type": "ListItem", "position": 2, "name": "A post"}]},
            {"@type": "WebSite", "url": f"{ORIGIN}/", "name": "Odd", "potentialAction": [{"@type": "SearchAction",
             "target": {"@type": "EntryPoint", "urlTemplate": f"{ORIGIN}/?s={{search_term_string}}"},
             "query-input": "required name=search_term_string"}]},
            {"@type": ["Person", "Organization"], "@id": f"{ORIGIN}/#p", "name": "Ada", "image": {"@type": "ImageObject",
             "url": f"{ORIGIN}/ada.jpg"}, "logo": {"@id": f"{ORIGIN}/#p"}},
        ],
    }  # fmt: skip
    pixel = (
        '<noscript><img height="1" width="1" style="display:none" src="https://pixel.example/tr?id=1&ev=PageView&noscript=1"/>'
        '</noscript><noscript><iframe src="https://tags.example/ns.html" height="0" width="0" style="display:none;visibility:hidden">'
        "</iframe></noscript>"
    )
    icon = '<svg role="img" viewBox="0 0 24 24"><title>Menu</title><desc>Opens the menu</desc><path d="M0 0h24v24H0z"/></svg>'
    menu = "".join(
        f'<a href="{each}">{each}</a>'
        for each in (
            "/post",
            "/amp/post",
            "/Zwei",
            "/gallery?utm_source=menu",
            "/hidden-heading",
            "/legal",
            "/old-address/",
            "/data.csv",
        )
    )

    def page(
        path: str, title: str, main: str, head: str = "", html_attributes: str = 'lang="en"', canonical: str = ""
    ) -> PlainRoute:
        return html(
            f'<!doctype html><html {html_attributes}><head><meta charset="utf-8">{VIEWPORT}<title>{title}</title><meta name="description" '
            f'content="{prose(path + "d", 11)}"><link rel="canonical" href="{canonical or ORIGIN + path}">{head}</head><body>{pixel}{icon}'
            f"<nav>{menu}<a href='#'>Top</a><a href=''>Here</a><a>No address</a></nav><main>{main}<p>{prose(path)}</p></main></body></html>"
        )

    routes = {
        "/": page("/", "Odd things", '<h1><a href="/"><img src="/logo.svg" alt="Odd things"></a></h1>', canonical=ORIGIN),
        "/post": page("/post", "A post", "<h1>A post</h1><h2>Part</h2><h3>Piece</h3><h2>Part</h2>",
                      f'<script type="application/ld+json">{json.dumps(graph)}</script><link rel="amphtml" href="{ORIGIN}/amp/post">'),
        "/amp/post": page("/amp/post", "A post", "<h1>A post</h1>", html_attributes='⚡ lang="en"', canonical=f"{ORIGIN}/post"),
        "/Zwei": page("/Zwei", "Zwei Häfen", "<h1>Zwei<br>Häfen</h1>", html_attributes='xml:lang="de" lang="de"'),
        "/gallery": page("/gallery", "Gallery", '<h1 class="screen-reader-text">Gallery</h1><img data-src="/1.jpg" src="data:image/gif;base64,'
                         'R0lGODlhAQABAAAAACw=" alt="One" loading="lazy"><noscript><img src="/1.jpg" alt="One"></noscript>'
                         '<img src="/ornament.png" alt=""><picture><source srcset="/2.webp" type="image/webp"><img src="/2.jpg" alt="Two"></picture>'),
        "/hidden-heading": page("/hidden-heading", "A page with aria", '<div role="heading" aria-level="2">Not the first</div><h1>A page with aria</h1>'),
        "/legal": page("/legal", "Legal notice", "<h1>Legal notice</h1>", '<meta name="robots" content="noindex, follow">'),
        # As Hugo and Jekyll write aliases.
        "/old-address/": html(
            f'<!DOCTYPE html><html lang="en"><head><title>{ORIGIN}/post</title><link rel="canonical" href="{ORIGIN}/post"><meta name="robots" '
            f'content="noindex"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={ORIGIN}/post"></head></html>'
        ),
        "/data.csv": PlainRoute("a,b\n1,2\n", 200, {"Content-Type": "text/csv"}),
        "/robots.txt": text(f"User-agent: *\nAllow: /\n\nUser-agent: GPTBot\nDisallow: /\n\nSitemap: {ORIGIN}/sitemap.xml\n"),
        "/sitemap.xml": urlset(["/", "/post", "/Zwei", "/gallery", "/hidden-heading"]),
    }  # fmt: skip
    return LabelledSite("odd_and_right", routes, ())


# -- odd, and wrong --------------------------------------------------------------------------------------------------------


def odd_and_wrong() -> LabelledSite:
    """Faults that hide: in headers, in case and slashes, behind the scheme, in data that nearly parses."""

    def page(
        path: str, title: str, main: str, head: str = "", canonical: str | None = None, **headers: str
    ) -> PlainRoute:
        named = f'<link rel="canonical" href="{canonical or ORIGIN + path}">' if canonical != "" else ""
        return html(
            f'<!doctype html><html lang="en"><head><meta charset="utf-8">{VIEWPORT}<title>{title}</title><meta name="description" '
            f'content="{prose(path + "d", 11)}">{named}{head}</head><body><main>{main}<p>{prose(path.rstrip("/").lower())}</p></main></body></html>',
            **headers,
        )

    links = "".join(
        f'<a href="{each}">{each}</a>'
        for each in (
            "/about",
            "/about/",
            "/by-header",
            "/plain-canonical",
            "/recipe",
            "/two",
            "/refused",
            "/broken-end",
            "/none",
            "/picture",
            "/teapot",
        )
    )
    broken = '{"@context": "https://schema.org", "@type": "Recipe", "name": "Soup", "image": "/soup.jpg",}'
    routes = {
        "/": page("/", "Odd and wrong", f"<h1>Odd and wrong</h1>{links}"),
        "/about": page("/about", "About us", "<h1>About us</h1>", canonical=""),
        "/about/": page("/about/", "About us", "<h1>About us</h1>", canonical=""),
        "/by-header": page("/by-header", "By header", "<h1>By header</h1>", X_Robots_Tag="googlebot: noindex, nofollow"),
        "/plain-canonical": page("/plain-canonical", "Plain canonical", "<h1>Plain</h1>", canonical=f"{HTTP_ORIGIN}/plain-canonical"),
        "/recipe": page("/recipe", "Soup", "<h1>Soup</h1>", f'<script type="application/ld+json">{broken.replace(",}", ",,}")}</script>'),
        "/two": page("/two", "Two", "<h1>Two</h1>", f'<link rel="canonical" href="{ORIGIN}/about">'),
        "/refused": html("<h1>Gone</h1>", 410),
        "/broken-end": PlainRoute("", drops=True),
        "/none": page("/none", "None", "<h1>None</h1>", '<meta name="robots" content="none">'),
        "/picture": page("/picture", "Picture", "<h1>Picture</h1><a href='/about'><img src='/p.jpg'></a>"),
        "/teapot": html("<h1>Teapot</h1>", 503),
        "/robots.txt": text(f"User-agent: *\nDisallow: /private\nSitemap: {ORIGIN}/sitemap.xml\n"),
        "/sitemap.xml": urlset(["/", "/about", "/by-header", "/plain-canonical", "/recipe", "/two", "/none", "/picture", "/lost"]),
    }  # fmt: skip
    return LabelledSite(
        "odd_and_wrong",
        routes,
        faults(
            duplicate_content=["/about", "/about/"],
            unlisted_page=["/about/"],
            noindex_in_sitemap=["/by-header", "/none"],
            canonical_to_redirect=["/plain-canonical"],
            structured_data_fault=["/recipe"],
            multiple_canonicals=["/two"],
            broken_link=["/refused", "/broken-end", "/teapot"],
            unreachable=["/broken-end"],
            server_error=["/teapot"],
            missing_alt=["/picture"],
            error_in_sitemap=["/lost"],
            broken_page=["/lost"],
        ),
        is_secure=True,
    )


KINDS = (
    wordpress_blog,
    shopify_shop,
    versioned_docs,
    three_languages,
    single_page_app,
    old_site_moved_to_https,
    odd_and_right,
    odd_and_wrong,
)
