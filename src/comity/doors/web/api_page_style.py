"""How the page about the API looks: light and dark as the reader's system is, and down to the width of a phone."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Final

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c2126;--soft:#5b6670;--line:#dde2e7;--paper:#fff;--panel:#f6f8fa;--link:#0b62c4;
--get:#1a6fb5;--post:#1b7f4b;--patch:#8a5a00;--delete:#b42318;--needed:#b42318}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#9aa5b1;--line:#30373f;--paper:#14181c;--panel:#1c2228;
--link:#6cb0ff;--get:#6cb0ff;--post:#57c88d;--patch:#e0b050;--delete:#ff8a7e;--needed:#ff8a7e}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
header{padding:1.5rem 1.5rem .5rem;border-bottom:1px solid var(--line)}
h1{margin:0;font-size:1.6rem}h1 small{color:var(--soft);font-weight:400;font-size:1rem}
h2{margin:2rem 0 .25rem;font-size:1.35rem}h3{margin:1.5rem 0 .5rem;font-size:1.1rem}
h4{margin:0;font-size:1rem;font-weight:600}
h5{margin:1rem 0 .25rem;font-size:.8rem;letter-spacing:.04em;text-transform:uppercase;color:var(--soft)}
a{color:var(--link)}p{margin:.35rem 0}
code,pre{font:.9em/1.45 ui-monospace,Menlo,Consolas,monospace}
pre{margin:.25rem 0;padding:.75rem;background:var(--panel);border:1px solid var(--line);border-radius:6px;
white-space:pre-wrap}
.page{display:grid;grid-template-columns:19rem minmax(0,1fr);gap:2rem;max-width:80rem;margin:0 auto;padding:0 1.5rem}
main{padding-bottom:4rem;min-width:0}
nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto;padding:1rem 0;font-size:.88rem}
nav h2{margin:1rem 0 .25rem;font-size:1rem}nav h3{margin:.6rem 0 .1rem;font-size:.88rem}
nav ul{margin:0;padding:0;list-style:none}nav a{text-decoration:none}nav li a{display:block;padding:.1rem 0}
article{margin:.75rem 0;padding:1rem;border:1px solid var(--line);border-radius:8px;scroll-margin-top:1rem}
article:target{border-color:var(--link)}
b.get,b.post,b.patch,b.put,b.delete{font:600 .75rem ui-monospace,Menlo,Consolas,monospace}
b.get{color:var(--get)}b.post{color:var(--post)}b.patch,b.put{color:var(--patch)}b.delete{color:var(--delete)}
article b.get,article b.post,article b.patch,article b.put,article b.delete{padding:.1rem .4rem;
border:1px solid currentColor;border-radius:4px;margin-right:.35rem}
dl.fields{display:grid;grid-template-columns:minmax(9rem,max-content) minmax(0,1fr);gap:.25rem 1rem;margin:.25rem 0}
dl.fields dt,dl.fields dd{margin:0}.kind{color:var(--soft)}
.needed{color:var(--needed);font-size:.8rem;font-style:normal}
details summary{cursor:pointer;color:var(--link);margin:.35rem 0}
@media(max-width:52rem){.page{display:block;padding:0 1rem}header{padding:1rem}
nav{position:static;max-height:40vh;padding:.25rem 0;border-bottom:1px solid var(--line)}
dl.fields{display:block}dl.fields dd{margin:0 0 .6rem}article{padding:.75rem}}
"""
STYLE_HASH: Final = f"'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
"""What a Content-Security-Policy lets this style in by; no other is."""
