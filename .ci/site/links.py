"""Links of the documents that lead out of docs/ lead to the repository on the site."""

import posixpath
import re

REPOSITORY = "https://github.com/strictkv/strictkv/blob/main/"
LINK = re.compile(r"(\]\()((?:\.\./)+)([^)\s]*)")


def on_page_markdown(markdown, page, **_):
    folder = posixpath.dirname(page.file.src_uri)

    def absolute(match):
        target = posixpath.normpath(posixpath.join("docs", folder, match[2] + match[3]))
        if target.startswith("docs/"):
            return match[0]
        return match[1] + REPOSITORY + target

    return LINK.sub(absolute, markdown)
