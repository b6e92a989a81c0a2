package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"

	"github.com/skerry/skerry/testnet/env"
)

// painted are the views that are opened in a browser, what a page without style or script takes first: the browser's own part.
var painted = []struct{ name, path string }{
	{"a text of twelve lines", "/static/vendor/LICENSE.htmx"},
	{"overview", "/"},
	{"resources", "/resources"},
	{"a page of them, filtered", "/resources?q=99&order=name"},
	{"decisions", "/decisions"},
	{"operations", "/operations"},
	{"sites", "/sites"},
	{"objects", "/objects?kind=images.image"},
	{"history", "/history"},
}

// viewed is what ten people look at.
var viewed = []string{"/", "/", "/", "/resources", "/resources", "/operations", "/operations", "/decisions", "/sites", "/history"}

// dashboard measures what people see of many resources: how long after a click a view is painted, and what ten who look at
// live views cost the agent.
func dashboard(ctx context.Context, b *bench) error {
	return b.sites(ctx, func(e *env.Env) error {
		paris := e.Site(three[0])
		l := creates(paris, "page", "Scope: {images: *}", 32)
		l.Requests = b.Idle
		if _, err := l.run(ctx); err != nil {
			return err
		}
		if _, err := until(ctx, time.Now(), time.Second, 30*time.Minute, func() (bool, error) { return allConverged(ctx, e.Sites()...) }); err != nil {
			return err
		}
		return errors.Join(b.paint(ctx, paris), b.viewers(ctx, paris))
	}, three...)
}

// paint opens each view in Chromium, with an empty cache and from another view, and reports when the browser painted the first of it.
func (b *bench) paint(ctx context.Context, at *env.Site) error {
	ctx, stop := chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1360, 900), chromedp.Flag("remote-debugging-pipe", true),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) { // in the site's network, as a browser beside its agent
			cmd.Args = at.Host().Command(cmd.Args...)
			cmd.Path, cmd.Err = exec.LookPath(cmd.Args[0])
		}))...)
	defer stop()
	ctx, end := chromedp.NewContext(ctx)
	defer end()
	if err := chromedp.Do(ctx); err != nil {
		return fmt.Errorf("start chromium: %w", err)
	}
	const times = 15
	b.report.table(fmt.Sprintf("First contentful paint at an agent with %d resources, %d times each", b.Idle, times),
		"view", "empty cache, p50", "p90", "from another view, p50", "p90", "answer begins", "size")
	base := "http://" + at.Config().API
	for _, v := range painted {
		row := []string{v.name}
		var last opened
		for _, empty := range []bool{true, false} {
			var all []float64
			for range times {
				o, err := openView(ctx, base, v.path, empty)
				if err != nil {
					return fmt.Errorf("open %s: %w", v.path, err)
				}
				all, last = append(all, o.Paint), o
			}
			slices.Sort(all)
			row = append(row, fmt.Sprintf("%.0f ms", all[times/2]), fmt.Sprintf("%.0f ms", all[times*9/10]))
		}
		b.report.row(append(row, fmt.Sprintf("%.0f ms", last.Answer), fmt.Sprintf("%.0f KiB", last.Size/1024))...)
	}
	return nil
}

// opened is what the browser says of a view, in milliseconds and bytes.
type opened struct{ Paint, Answer, Size float64 }

// timing waits until the view is there and tells what Performance Timeline has of it.
const timing = `new Promise(done => {
	const look = () => {
		const paint = performance.getEntriesByName('first-contentful-paint')[0], page = performance.getEntriesByType('navigation')[0];
		if (!paint || !page.loadEventEnd) return setTimeout(look, 20);
		done(JSON.stringify({Paint: paint.startTime, Answer: page.responseStart, Size: page.decodedBodySize}));
	};
	look();
})`

// openView opens a view in a tab: one with an empty cache, or one that shows another view before.
func openView(ctx context.Context, base, path string, empty bool) (o opened, err error) {
	options := []chromedp.ContextOption{}
	if empty {
		options = append(options, chromedp.WithNewBrowserContext())
	}
	tab, done := chromedp.NewContext(ctx, options...)
	defer done()
	tab, stop := context.WithTimeout(tab, time.Minute)
	defer stop()
	// The browser begins a process for a tab's first page; that is no part of what an agent can mend.
	first := base + "/static/vendor/LICENSE.htmx"
	if !empty {
		first = base + "/settings"
	}
	if err := chromedp.Do(tab, chromedp.Navigate(first)); err != nil {
		return o, err
	}
	if err := rest(tab); err != nil {
		return o, fmt.Errorf("wait until the browser rests: %w", err)
	}
	if err := chromedp.Do(tab, chromedp.Navigate(base+path)); err != nil {
		return o, err
	}
	text, err := chromedp.Run(tab, chromedp.Evaluate[string](timing, chromedp.EvalAwaitPromise))
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal([]byte(text), &o)
}

// rest waits until the browser's processes have hardly anything to do. With each window, Chromium loads two pages of its own, for its address
// bar, in a process that it starts for them: a second of processor time and more, which is over when a person clicks.
func rest(ctx context.Context) error {
	const every, most = 300 * time.Millisecond, 15 * time.Millisecond
	for before := time.Duration(-1); ; {
		all, err := chromedp.CallBrowser(ctx, systeminfo.GetProcessInfo, cdp.Empty{})
		if err != nil {
			return err
		}
		var now time.Duration
		for _, p := range all.ProcessInfo {
			now += time.Duration(p.CPUTime * float64(time.Second))
		}
		if before >= 0 && now-before < most { // less, if a process has ended
			return nil
		}
		before = now
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// viewers measures the agent's processor time without and with ten who look at live views, while nothing happens and while clients write.
func (b *bench) viewers(ctx context.Context, at *env.Site) error {
	b.report.table(fmt.Sprintf("Ten viewers of live views at an agent with %d resources", b.Idle), "meanwhile", "without them", "with them", "of a core for them", "views made again")
	for _, rate := range []int{0, 5, 50} {
		name := "nothing happens"
		if rate > 0 {
			name = fmt.Sprintf("%d creates a second at three sites", rate)
		}
		without, _, err := b.watched(ctx, at, rate, nil)
		if err != nil {
			return err
		}
		with, again, err := b.watched(ctx, at, rate, viewed)
		if err != nil {
			return err
		}
		b.report.row(name, fmt.Sprintf("%.2f %%", without), fmt.Sprintf("%.2f %%", with), fmt.Sprintf("%.2f %%", with-without),
			fmt.Sprintf("%.1f/s", float64(again)/watched.Seconds()))
	}
	return nil
}

// watched returns which part of a core the agent takes, in percent, while clients write at a rate and people look at views, and how often
// these were made again.
func (b *bench) watched(ctx context.Context, at *env.Site, rate int, views []string) (percent float64, again int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	v := &viewer{site: at}
	for _, path := range views {
		all.Go(func() { v.look(ctx, path) })
	}
	if rate > 0 {
		all.Go(func() { v.note(b.write(ctx, at, rate)) })
	}
	select { // until all are there
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	before, err := processor(at.Agent().PID())
	if err != nil {
		return 0, 0, err
	}
	v.restart()
	select {
	case <-time.After(watched):
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	after, err := processor(at.Agent().PID())
	if err != nil {
		return 0, 0, err
	}
	again, err = v.result()
	return 100 * (after - before).Seconds() / watched.Seconds(), again, err
}

// write makes images at a steady rate until ctx ends.
func (b *bench) write(ctx context.Context, at *env.Site, rate int) error {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		a, err := at.Request(ctx, "images", "POST /images", fmt.Sprintf(`{"name":"while they look %d"}`, i), "Scope", "{images: *}")
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case a.Status != http.StatusCreated:
			return fmt.Errorf("a create was answered %d: %s", a.Status, a.Body)
		}
	}
}

// viewer is people who look at views as the page's script does: it asks for the view again when the stream says that there is news, and
// where round trips are shown with each pulse.
type viewer struct {
	site *env.Site

	mu    sync.Mutex
	again int   // guarded by mu
	err   error // the first; guarded by mu
}

func (v *viewer) restart() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.again = 0
}

func (v *viewer) result() (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.again, v.err
}

func (v *viewer) note(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err == nil {
		v.err = err
	}
}

func (v *viewer) look(ctx context.Context, path string) {
	stream, err := v.get(ctx, "/live")
	if err != nil {
		v.note(err)
		return
	}
	defer stream.Close()
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		if line := lines.Text(); line != "event: news" && (line != "event: alive" || path != "/" && path != "/sites") {
			continue
		}
		view, err := v.get(ctx, path)
		if err == nil {
			_, err = io.Copy(io.Discard, view)
			view.Close()
		}
		if ctx.Err() != nil {
			return
		}
		v.note(err)
		v.mu.Lock()
		v.again++
		v.mu.Unlock()
	}
	if ctx.Err() == nil {
		v.note(errors.Join(errors.New("a live view's stream has ended"), lines.Err()))
	}
}

func (v *viewer) get(ctx context.Context, path string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.site.Config().API+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/html")
	r.Header.Set("HX-Request", "true")
	a, err := v.site.HTTP().Do(r)
	if err != nil {
		return nil, err
	}
	if a.StatusCode != http.StatusOK {
		a.Body.Close()
		return nil, fmt.Errorf("%s was answered %d", path, a.StatusCode)
	}
	return a.Body, nil
}
