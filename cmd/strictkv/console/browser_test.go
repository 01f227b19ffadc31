package console

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/internal/loopback"
	"github.com/strictkv/strictkv/layers/tuple"
)

// answerWithin is how long a browser may take to start, or to show what is waited for.
const answerWithin = 2 * time.Minute

// browser is one that a test drives.
type browser struct {
	t    *testing.T
	ctx  context.Context
	mu   sync.Mutex
	told []string // errors, violations of the policy, and dialogs
}

// program finds a browser.
func program(t *testing.T) string {
	if path := os.Getenv("STRICTKV_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("STRICTKV_SERVERS") == "required" {
		t.Fatal("no Chromium: install it, or set STRICTKV_CHROMIUM to its path")
	}
	t.Skip("no Chromium (apt-get install chromium): set STRICTKV_CHROMIUM to run it")
	return ""
}

// start starts a browser and opens a page. In the end it must have had nothing to complain of.
func start(t *testing.T, url string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program(t)),
		chromedp.WSURLReadTimeout(answerWithin))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it has none for root
	}
	all, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, cancel := chromedp.NewContext(all)
	b := &browser{t: t, ctx: ctx}
	t.Cleanup(func() {
		assert.NoError(t, chromedp.Cancel(ctx))
		cancel()
		stop()
		chromedp.FromContext(ctx).Allocator.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		assert.Empty(t, b.told)
	})
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	_, err := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	require.NoError(t, err)
	b.run(chromedp.Navigate(url))
	return b
}

// hear hears what a page must not do.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.told = append(b.told, "console: "+string(e.Type))
	case *runtime.EventExceptionThrown:
		b.told = append(b.told, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.told = append(b.told, "log: "+e.Entry.Text)
	case *page.EventJavascriptDialogOpening:
		b.told = append(b.told, "dialog: "+e.Message)
	}
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, answerWithin)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, actions...))
}

// script runs a script, whose outcome is that of a promise if it returns one.
func (b *browser) script(format string, args ...any) {
	b.t.Helper()
	b.run(chromedp.Evaluate[chromedp.Void](
		fmt.Sprintf(format, args...), chromedp.EvalAwaitPromise))
}

// wait waits until an expression is true. The policy of the page forbids what chromedp has for it.
func (b *browser) wait(format string, args ...any) {
	b.t.Helper()
	b.script(`new Promise(done => {
		const look = () => { (%s) ? done() : setTimeout(look, 20); };
		look();
	})`, fmt.Sprintf(format, args...))
}

// eval is what an expression is.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b.t, err, expression)
	return v
}

// click clicks on what has the text.
func (b *browser) click(selector, text string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find(
		e => e.textContent === %q && e.checkVisibility() && !e.disabled)`, selector, text)
	b.wait("!!%s", find)
	b.script("%s.scrollIntoView()", find)
	at := eval[[]float64](b, `(r => [r.x + r.width / 2, r.y + r.height / 2])(`+find+
		`.getBoundingClientRect())`)
	b.run(chromedp.MouseClickXY(at[0], at[1]))
}

// fill puts text into a field.
func (b *browser) fill(id, text string) {
	b.t.Helper()
	b.script(`document.getElementById(%q).value = %q`, id, text)
}

// TestBrowserPages: a person turns pages, and filters keys.
func TestBrowserPages(t *testing.T) {
	db, s := open(t, Options{})
	c := db.Collection([]byte("many"))
	for i := range 120 {
		require.NoError(t, c.Write(t.Context(), fmt.Appendf(nil, "key%03d", i), nil))
	}
	b := start(t, loopback.URL(s.Listener.Addr().String(), token))
	assert.NotContains(t, eval[string](b, "location.href"), token)
	first := func(key string) {
		t.Helper()
		b.wait(`document.querySelector("#list a")?.textContent === %q`, key)
	}
	b.click("#collections a", "many/")
	first("key000")
	assert.True(t, eval[bool](b, `document.getElementById("previous").disabled`))
	b.click("button", "Next →")
	first("key050")
	b.click("button", "Next →")
	first("key100")
	assert.True(t, eval[bool](b, `document.getElementById("next").disabled`))
	b.click("#list a", "key119")
	b.wait(`document.querySelector("#detail h2")?.textContent === "key119"`)
	b.click("button", "← Previous")
	first("key050")
	b.click("button", "← Previous")
	first("key000")
	b.fill("prefix", "key11")
	b.click("button", "Filter")
	first("key110")
	assert.Equal(t, 10, eval[int](b, `document.querySelectorAll("#list a").length`))
	b.run(chromedp.NavigateBack(), chromedp.NavigateBack())
	first("key050")
	b.fill("prefix", `"open`)
	b.click("button", "Filter")
	b.wait(`document.getElementById("error").textContent.includes("not a key")`)
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Len(t, b.told, 1)
	assert.Contains(t, b.told[0], "400")
	b.told = nil
}

// TestBrowserHostile: nothing that is in the database becomes more than text.
func TestBrowserHostile(t *testing.T) {
	db, s := open(t, Options{Write: true})
	for _, text := range hostile {
		c := db.Collection([]byte(text))
		require.NoError(t, c.Write(t.Context(), []byte(text), []byte(text)))
		require.NoError(t, c.Write(t.Context(), []byte("json"), fmt.Appendf(nil, `{"a": [%q]}`, text)))
	}
	b := start(t, loopback.URL(s.Listener.Addr().String(), token))
	b.wait(`document.querySelectorAll("#collections a").length === %d`, len(hostile))
	inert := `document.querySelectorAll(".planted, body script, #browse img, #browse svg, b").length
		- document.querySelectorAll("#work b, #tiles b").length`
	raw := `/[^\P{C}\n\t]/u.test(document.body.innerText)`
	for i := range hostile {
		b.script(`location.hash = ""`)
		b.wait(`document.querySelectorAll("#collections a").length === %d`, len(hostile))
		b.script(`document.querySelectorAll("#collections a")[%d].click()`, i)
		b.wait(`document.querySelectorAll("#list a").length === 2`)
		for k := range 2 {
			b.script(`document.querySelectorAll("#list a")[%d].click()`, k)
			b.wait(`document.querySelector("#detail h2")?.textContent ===
				document.querySelectorAll("#list a")[%d].textContent`, k)
			for n := range eval[int](b, `document.querySelectorAll(".tabs button").length`) {
				b.script(`document.querySelectorAll(".tabs button")[%d].click()`, n)
				assert.Zero(t, eval[int](b, inert), "%q", hostile[i])
				assert.False(t, eval[bool](b, raw), "%q", hostile[i])
			}
		}
	}
	b.script(`location.hash = "view=activity"`)
	b.wait(`document.querySelectorAll("#hot td").length > 20`)
	assert.Zero(t, eval[int](b, inert))
	assert.False(t, eval[bool](b, raw))
}

// TestBrowserChanges: a person makes a key, changes it, and deletes it.
func TestBrowserChanges(t *testing.T) {
	db, s := open(t, Options{Write: true})
	b := start(t, loopback.URL(s.Listener.Addr().String(), token))
	b.click("button", "New key")
	value := `{"big": 12345678901234567890, "of": [1, {}, "a, b"]}`
	b.fill("edit-collection", "users")
	b.fill("edit-key", "alice")
	b.fill("edit-value", value)
	b.click("button", "Save")
	b.wait(`document.querySelector("#detail pre")?.textContent.includes("12345678901234567890")`)
	lines := []string{
		"{", `  "big": 12345678901234567890,`, `  "of": [`, "    1,", "    {},", `    "a, b"`, "  ]", "}",
	}
	shown := eval[string](b, `document.querySelector("#detail pre").textContent`)
	assert.Equal(t, lines, strings.Split(shown, "\n"), "indented, and numbers as they are")
	b.click("button", "Edit")
	b.fill("edit-value", "größe")
	b.click("button", "Save")
	b.wait(`document.querySelector("#detail pre")?.textContent === "größe"`)
	got, err := db.Collection([]byte("users")).Read(t.Context(), []byte("alice"))
	require.NoError(t, err)
	assert.Equal(t, "größe", string(got))

	b.click("button", "Delete") // and then not
	b.click("button", "Cancel")
	b.click("#detail button", "Delete")
	b.click("#edit-do", "Delete")
	b.wait(`document.getElementById("list").textContent === "No keys here."`)
}

// TestBrowserActivity: charts show what the handle does, and a check what it has found.
func TestBrowserActivity(t *testing.T) {
	db, s := open(t, Options{})
	b := start(t, loopback.URL(s.Listener.Addr().String(), token)+"#view=activity")
	b.click("nav a", "Activity")
	points := `document.querySelector("#charts polyline")?.getAttribute("points")`
	b.wait("!!%s", points)
	was := eval[string](b, points)
	c := db.Collection([]byte("c"))
	for i := range 100 {
		require.NoError(t, c.Write(t.Context(), []byte("hot"), fmt.Append(nil, i)))
	}
	b.wait("%s !== %q", points, was)
	b.wait(`document.querySelector("#hot a")?.textContent === "c hot"`)
	b.wait(`document.querySelector("#tiles b").textContent === "100"`)

	b.click("nav a", "Upkeep")
	b.click("button", "Run")
	b.wait(`document.querySelector("#report h2")?.textContent === "No problems"`)
	b.script(`document.querySelector("input[value=sweep]").click()`)
	b.click("button", "Run")
	b.wait(`document.querySelector("#report h2")?.textContent === "What a sweep would do"`)
	assert.Contains(t, eval[string](b, `document.getElementById("objects").textContent`), "objects")
}

// show sets the size of the window, and the colours.
func (b *browser) show(width, height int64, scheme string) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(width, height))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(b.t, err)
}

var (
	update  = flag.Bool("update", false, "take the picture of the documentation anew")
	picture = filepath.Join("..", "..", "..", "docs", "images", "console.png")
)

// shop fills a database with what a page may show.
func shop(t *testing.T, db *strictkv.DB) {
	put := func(c *strictkv.Collection, key, value []byte) {
		require.NoError(t, c.Write(t.Context(), key, value))
	}
	orders, images := db.Collection([]byte("orders")), db.Collection([]byte("images"))
	for i := range 60 {
		key, err := tuple.Tuple{"2026", i + 1}.Pack()
		require.NoError(t, err)
		put(orders, key, fmt.Appendf(nil, `{"customer": "customer-%02d", "total": %d.50,
			"items": [{"article": "lamp", "count": %d}, {"article": "chair", "count": 2}],
			"note": null, "paid": true}`, i%7, 10+i, i%3+1))
	}
	long := bytes.Repeat([]byte("long"), 100)
	put(orders, long, long)
	put(db.Collection(long), long, long)
	put(db.Collection([]byte("customers")).Collection([]byte("archive")), []byte("k"), nil)
	img := image.NewRGBA(image.Rect(0, 0, 800, 600))
	for i := range img.Pix {
		img.Pix[i] = byte(i*7 | 3)
	}
	var file bytes.Buffer
	require.NoError(t, png.Encode(&file, img))
	put(images, []byte("picture.png"), file.Bytes())
}

// TestBrowserLooks: on a screen and on a telephone, by day and by night, nothing is wider than the
// window. With STRICTKV_PICTURES, the name of a folder, all that is seen is kept there.
func TestBrowserLooks(t *testing.T) {
	db, s := open(t, Options{Write: true})
	shop(t, db)
	b := start(t, loopback.URL(s.Listener.Addr().String(), token))
	for _, x := range []struct{ name, hash, ready, click string }{
		{"top", "", "#collections a", ""},
		{"json", `collection=orders&key=("2026", 3)`, "#detail pre", ""},
		{"cell", "collection=orders&key=" + strings.Repeat("long", 100), "#detail dl", "Cell"},
		{"hex", "collection=images&key=picture.png", "#detail pre", "Hex"},
		{"image", "collection=images&key=picture.png", "#detail img", "Image"},
		{"delete", "collection=images&key=picture.png", "#edit", "Delete"},
		{"empty", "collection=nothing", "#list .empty", ""},
		{"edit", "collection=nothing", "#edit", "New key"},
		{"activity", "view=activity", "#hot a", ""},
		{"upkeep", "view=upkeep", "#report dl", "Run"},
	} {
		for _, width := range []int64{1280, 390} {
			for _, scheme := range []string{"light", "dark"} {
				b.show(width, map[int64]int64{1280: 800, 390: 844}[width], scheme)
				b.script(`document.getElementById("edit").close(); location.hash = %q`, x.hash)
				b.wait(`new URLSearchParams(%q).get("key") === null ||
					document.querySelector("#detail h2")?.textContent ===
					new URLSearchParams(%q).get("key")`, x.hash, x.hash)
				if x.click != "" {
					b.click("button", x.click)
				}
				b.wait(`document.querySelector(%q)?.checkVisibility() &&
					[...document.images].every(i => i.complete && i.naturalWidth)`, x.ready)
				wide := eval[int](b, `Math.max(...[document.documentElement,
					...document.querySelectorAll("body *")].filter(e => e.checkVisibility() &&
						!e.closest("svg")).map(e => Math.ceil(e.getBoundingClientRect().right)),
					document.documentElement.scrollWidth)`)
				assert.LessOrEqual(t, wide, int(width), "%s in %d", x.name, width)
				b.keep(fmt.Sprintf("%s-%d-%s.png", x.name, width, scheme))
			}
		}
	}
	if *update {
		b.show(1280, 640, "light")
		b.script(`location.hash = %q`, `collection=orders&key=("2026", 3)`)
		b.wait(`document.querySelector("#detail pre")?.checkVisibility()`)
		b.run(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 900, 620)) // on nothing
		require.NoError(t, os.WriteFile(picture, b.shot(), 0o600))
	}
	taken, err := os.Stat(picture)
	require.NoError(t, err)
	assert.Less(t, taken.Size(), int64(150<<10), "a page of the documentation loads fast")
}

func (b *browser) shot() []byte {
	b.t.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	return data
}

// keep keeps what is seen, for people to look at.
func (b *browser) keep(name string) {
	b.t.Helper()
	if dir := os.Getenv("STRICTKV_PICTURES"); dir != "" {
		require.NoError(b.t, os.WriteFile(filepath.Join(dir, name), b.shot(), 0o600))
	}
}
