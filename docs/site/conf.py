"""Sphinx configuration of the site. scripts/site.sh builds it, from the pages that docs/site/pages.py lays out."""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

project = "Tessera"
author = "The Tessera authors"
version = release = re.search(r"\n +VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"Tessera {version}"
html_show_copyright = html_show_sphinx = html_copy_source = False
highlight_language = "text"

# Links between the pages rely on the anchors that GitHub makes of headings.
myst_heading_anchors = 4

# Docstrings are read without the extension, which is not built for the site.
autodoc_mock_imports = ["tessera._core"]
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False
napoleon_use_ivar = True

# What Doxygen made of the headers: site/cpp.
html_extra_path = [os.environ["TESSERA_SITE_EXTRA"]]

DIRECTORY_LINK = re.compile(r"\]\(((?:\.\./)?)(examples|schemas|docs)/?\)")
FILE_LINK = re.compile(r"\]\(((?:\.\./)?)(examples|schemas)/([\w./-]+)\)")


def link_to_pages(app, name, source):
    """Folders, and the files that a page shows, have pages of their own on the site."""
    text = DIRECTORY_LINK.sub(lambda link: f"]({link[1]}{link[2]}/index.md)" if link[2] != "docs" else "](index.rst)", source[0])
    source[0] = FILE_LINK.sub(lambda link: link[0] if link[3] == "index.md" else
                              f"]({link[1]}{link[2]}/index.md#{slug(link[3])})", text)


def slug(name):
    return re.sub(r"[^\w-]", "", name.lower())


def setup(app):
    app.connect("source-read", link_to_pages)
