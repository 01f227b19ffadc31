package lint

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const whyLink = "a link that leads nowhere costs a reader's trust in the rest"

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)[^)]*\)|(?:src|href)="([^"]+)"|^\[[^\]]+\]:\s+(\S+)`)
	inlineCode = regexp.MustCompile("`[^`]*`")
	heading    = regexp.MustCompile(`^#{1,6}\s+(.*)`)
	linkText   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	unslugged  = regexp.MustCompile(`[^\p{L}\p{N}\-_ ]`)
)

// prose calls f with each line of a page that is not in a block of code.
func prose(p page, f func(number int, line string)) {
	fenced := false
	for i, line := range strings.Split(p.text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			f(i+1, line)
		}
	}
}

// anchors are those of a page's headings, as GitHub makes them.
func anchors(p page) (all []string) {
	slugs := map[string]int{}
	prose(p, func(_ int, line string) {
		title := heading.FindStringSubmatch(line)
		if title == nil {
			return
		}
		words := linkText.ReplaceAllString(title[1], "$1")
		slug := unslugged.ReplaceAllString(strings.ToLower(words), "")
		slug = strings.ReplaceAll(strings.TrimSpace(slug), " ", "-")
		if slugs[slug]++; slugs[slug] > 1 {
			slug = fmt.Sprintf("%s-%d", slug, slugs[slug]-1)
		}
		all = append(all, slug)
	})
	return all
}

// links looks for links, outside of code, to files and headings that are not there, and to
// addresses of other sites that are none. It asks no other site.
func links(p page, all []page, exists func(name string) bool) []finding {
	var found []finding
	prose(p, func(number int, line string) {
		for _, m := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
			to := m[1] + m[2] + m[3]
			if wrong := astray(p, to, all, exists); wrong != "" {
				found = append(found, finding{p.name, number, wrong + ": " + to, whyLink})
			}
		}
	})
	return found
}

// astray says what is wrong with a link, if anything is.
func astray(p page, to string, all []page, exists func(name string) bool) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() && (u.Scheme != "https" || u.Host == "") {
		return "no address of a page"
	}
	if u.IsAbs() {
		return ""
	}
	name := p.name
	if u.Path != "" {
		name = path.Join(path.Dir(p.name), u.Path)
	}
	if !exists(name) {
		return "no such file"
	}
	at := slices.IndexFunc(all, func(p page) bool { return p.name == name })
	if u.Fragment != "" && at >= 0 && !slices.Contains(anchors(all[at]), u.Fragment) {
		return "no such heading"
	}
	return ""
}

func TestLinks(t *testing.T) {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err == nil && filepath.IsLocal(name)
	}
	all := pages(t)
	for _, p := range all {
		report(t, links(p, all, exists))
	}
}

func TestLinkRule(t *testing.T) {
	p := page{"docs/page.md", strings.Join([]string{
		"[good](good.md#a-part) [remote](https://example.com/x) [here](#part) ![bad](img/bad.png)",
		"`m[k](x)` and [titled](gone.md \"a title\")",
		"```go", "m[k](x)", "# part", "```",
		"[up](../README.md) <img src=\"none.svg\"> [old](http://example.com)",
		"## *Part*", "[no](good.md#other) [none](#here)",
		"[reference]: missing.md",
	}, "\n")}
	good := page{"docs/good.md", "# `A` [part](x.md)!\n## Two\n## Two"}
	assert.Equal(t, []string{"a-part", "two", "two-1"}, anchors(good))
	found := links(p, []page{p, good}, func(name string) bool {
		return slices.Contains([]string{"docs/good.md", "docs/page.md", "README.md"}, name)
	})
	assert.Equal(t, []finding{
		{"docs/page.md", 1, "no such file: img/bad.png", whyLink},
		{"docs/page.md", 2, "no such file: gone.md", whyLink},
		{"docs/page.md", 7, "no such file: none.svg", whyLink},
		{"docs/page.md", 7, "no address of a page: http://example.com", whyLink},
		{"docs/page.md", 9, "no such heading: good.md#other", whyLink},
		{"docs/page.md", 9, "no such heading: #here", whyLink},
		{"docs/page.md", 10, "no such file: missing.md", whyLink},
	}, found)
}
