package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/storage"
	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
	"github.com/skerry/skerry/testnet/process"
)

const (
	// patience bounds what would never come; a loaded machine may be slow.
	patience = 3 * time.Minute
	// mostMemory is the most bytes of memory that an agent may take while it is attacked.
	mostMemory = 512 << 20
	// partsOfEach is in how many resources of the clients each member has a part.
	partsOfEach = 2
	// roomForBodies is what a site is to keep of large bodies of one member.
	roomForBodies = 2 << 20
	theirs        = "bordeaux" // where the hostile members are
	ours          = "{images: paris & nantes & toulouse}"
)

// world are the honest sites with their clients, and the hostile process.
type world struct {
	*testing.T
	env     *env.Env
	sites   []*env.Site
	hostile *process.Process
	orders  Orders
	shared  []string          // resources in which each member has a part
	keys    map[string]string // of the honest sites, by name

	mu   sync.Mutex
	want map[string]map[string]any // what the clients have left, by name
	peak map[string]int            // memory, by site
	reqs int
}

func open(t *testing.T) *world {
	t.Helper()
	e := env.New(t, env.Setup{Program: program, Sites: []string{"paris", "nantes", "toulouse"}, Hosts: []string{theirs}, Application: env.Lab(program),
		Extra: fmt.Sprintf("limits: {members: {bodies: %d}}\n", roomForBodies)})
	return &world{T: t, env: e, sites: e.Sites(), want: map[string]map[string]any{}, peak: map[string]int{},
		orders: Orders{Members: *members, First: 1, Address: e.Host(theirs).Address, Port: 4701, Seed: *seed, Only: *only, Pause: *pause, Parts: partsOfEach}}
}

// secrets makes what the members have no right to.
func (w *world) secrets() {
	for i, s := range w.sites {
		content := fmt.Sprintf("nobody-else-s-business-%d", i)
		a := w.ask(s, "POST /images", fmt.Sprintf(`{"name":"secret-%d","description":%q}`, i, content), 201, "Scope", ours)
		w.orders.Secrets = append(w.orders.Secrets, Secret{a.Text("id"), content})
		w.want[fmt.Sprint("secret-", i)] = map[string]any{"description": content, "size": 0.0}
	}
}

// theirOwn makes what the members try to take from the honest sites: a name, and a zone.
func (w *world) theirOwn() {
	w.Helper()
	w.orders.Key = "deploy"
	a, err := w.sites[1].Request(w.Context(), lab.Servers, "PUT /keys/deploy", `{"public":"ours"}`, "Scope", "{servers: paris & nantes & toulouse}")
	if err != nil || a.Status != 201 {
		w.Fatalf("a key is made with %d %s (%v)", a.Status, a.Body, err)
	}
	w.sites[0].API(w, "PUT /api/v1/zones/"+zone, `{"sites":["nantes"]}`).Must(w, 200)
	w.keys, err = w.known(w.sites[0])
	if err != nil {
		w.Fatal(err)
	}
}

// known are the keys of the honest sites, as one of them knows them, by name.
func (w *world) known(s *env.Site) (map[string]string, error) {
	seen, err := s.Client().Sites(w.Context())
	keys := map[string]string{}
	for _, x := range seen {
		if !strings.HasPrefix(x.Name, prefix) {
			keys[x.Name] = x.PeerID
		}
	}
	return keys, err
}

// mesh looks whether all is where it was: who the sites are, which a zone has, and an object that has a name. Then it lets one more site in.
func (w *world) mesh() {
	w.Helper()
	for _, s := range w.sites {
		w.env.Eventually(w, patience, s.Name()+" has what was its own", func() error {
			keys, err := w.known(s)
			if err != nil || !maps.Equal(keys, w.keys) {
				return fmt.Errorf("it knows the sites %v, not %v (%v)", keys, w.keys, err)
			}
			var zones []struct {
				Name  string
				Sites []string
			}
			if err := json.Unmarshal([]byte(s.API(w, "GET /api/v1/zones", "").Body), &zones); err != nil {
				return err
			}
			if got := fmt.Sprint(zones); got != "[{west [nantes]}]" {
				return fmt.Errorf("the zones are %s", got)
			}
			a, err := s.RequestApplication(w.Context(), lab.Servers, "GET /keys/deploy", "")
			if err != nil || a.Text("public") != "ours" {
				return fmt.Errorf("the key is %d %s (%v)", a.Status, a.Body, err)
			}
			a, err = s.Request(w.Context(), lab.Images, "GET /images", "", "Scope", "{images: "+zone+"}")
			if got := a.Header.Get("Skerry-Site"); err != nil || got != "nantes" {
				return fmt.Errorf("the zone's answer comes from %q: %d %.200s (%v)", got, a.Status, a.Body, err)
			}
			return nil
		})
	}
	late := w.orders
	late.First, late.Members, late.Only, late.Parts = w.orders.First+w.orders.Members, 1, "wrong clock", 0
	p := w.start(&late)
	w.knows(p, fmt.Sprint(prefix, late.First))
	if err := p.Stop(patience); err != nil {
		w.Error(err)
	}
}

// ask sends a request of a client, who is served whatever the members do. Status 0 is any.
func (w *world) ask(s *env.Site, request, body string, status int, header ...string) env.Answer {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, err := s.Request(ctx, lab.Images, request, body, header...)
	if err != nil || a.Status != status && status != 0 {
		w.Errorf("a client's %s at %s: %d %s (%v), want %d", request, s.Name(), a.Status, a.Body, err, status)
	}
	w.mu.Lock()
	w.reqs++
	w.mu.Unlock()
	return a
}

// attack lets the members in, and gives each a part in something.
func (w *world) attack() {
	w.Helper()
	w.hostile = w.start(&w.orders)
	for i := range w.orders.Members {
		name := fmt.Sprint(prefix, w.orders.First+i)
		scope := fmt.Sprintf("{images: paris & nantes & toulouse & %s}", name)
		w.knows(w.hostile, name)
		for n := range partsOfEach { // it forks its lines in one of them
			a := w.ask(w.sites[(i+n)%3], "POST /images", fmt.Sprintf(`{"name":"shared-%d-%d"}`, i+1, n), 201, "Scope", scope)
			w.shared = append(w.shared, a.Text("id"))
		}
	}
}

// start lets members in, and has them begin.
func (w *world) start(o *Orders) *process.Process {
	w.Helper()
	invitation, err := w.sites[0].Client().Invite(w.Context(), o.Members)
	if err != nil {
		w.Fatal(err)
	}
	o.Token = invitation.Token
	dir := w.TempDir()
	b, _ := json.Marshal(o) // it is words and numbers
	file := filepath.Join(dir, "orders")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		w.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	p, err := process.Start("the hostile members", filepath.Join(dir, "log"), w.env.Host(theirs).Command(self, "hostile", file)...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = p.Kill() })
	return p
}

// knows waits until all honest sites reach a member: what they tell each other goes to those that they reach.
func (w *world) knows(p *process.Process, name string) {
	w.Helper()
	for _, s := range w.sites {
		w.env.Eventually(w, patience, s.Name()+" reaches "+name, func() error {
			if err := p.Ended(); err != nil {
				w.Fatal(err)
			}
			seen, err := s.Client().Sites(w.Context())
			if err != nil {
				return err
			}
			for _, x := range seen {
				if x.Name == name && x.Reachable {
					return nil
				}
			}
			return errors.New("it does not")
		})
	}
}

// serve has clients write and read at all sites for a while, and until each attack has got through. It looks at how much memory the agents take.
func (w *world) serve(d time.Duration) {
	ctx, stop := context.WithCancel(w.Context())
	defer stop()
	var clients sync.WaitGroup
	for i, s := range w.sites {
		clients.Go(func() { w.client(ctx, i, s) })
	}
	clients.Go(func() {
		defer stop()
		for begin := time.Now(); rest(ctx, 200*time.Millisecond) == nil && w.measure(); {
			took := time.Since(begin)
			if took < d {
				continue
			}
			missing := w.missing()
			if len(missing) == 0 {
				return
			}
			if took > d+patience {
				w.Errorf("these attacks have not got through in %v: %v", took, missing)
				return
			}
		}
	})
	clients.Wait()
	if w.Failed() {
		w.FailNow()
	}
}

// missing are the attacks that have not got through yet, with what became of them the last time.
func (w *world) missing() map[string]string {
	left := map[string]string{}
	for _, a := range chosen(w.orders.Only) {
		left[a.name] = "it was not tried"
	}
	for _, d := range w.done() {
		if _, is := left[d.Attack]; !is {
			continue
		}
		if left[d.Attack] = d.Error; d.Error == "" {
			delete(left, d.Attack)
		}
	}
	return left
}

// client makes, changes, reads and deletes resources at one site, one after the other.
func (w *world) client(ctx context.Context, i int, s *env.Site) {
	for n := 0; rest(ctx, 20*time.Millisecond) == nil && !w.Failed(); n++ {
		name := fmt.Sprintf("%s-%d", s.Name(), n)
		id := w.ask(s, "POST /images", fmt.Sprintf(`{"name":%q,"size":1}`, name), 201, "Scope", ours).Text("id")
		size := 1.0
		for range n % 3 {
			size++
			w.ask(s, "PATCH /images/"+id, fmt.Sprintf(`{"size":%v}`, size), 200, "Content-Type", "application/merge-patch+json")
		}
		if a := w.ask(s, "GET /images/"+id, "", 200); a.Fields()["size"] != size {
			w.Errorf("%s shows %s with a size of %v, not %v", s.Name(), name, a.Fields()["size"], size)
		}
		if n%4 == 3 {
			w.ask(s, "DELETE /images/"+id, "", 204)
			continue
		}
		w.mu.Lock()
		w.want[name] = map[string]any{"size": size, "description": ""}
		w.mu.Unlock()
		// What a member has a part in it may delete, or make unfit to be changed: there is an answer, whichever.
		w.ask(s, "PATCH /images/"+w.shared[n%len(w.shared)], fmt.Sprintf(`{"size":%d}`, n), 0, "Content-Type", "application/merge-patch+json")
	}
}

// measure takes note of how much memory each agent takes, and reports false where one has ended.
func (w *world) measure() bool {
	for _, s := range w.sites {
		if err := s.Agent().Ended(); err != nil {
			w.Errorf("%s: %v\n%s", s.Name(), err, dying(s.Config().Log()))
			return false
		}
		n := resident(s.Agent().PID())
		w.mu.Lock()
		w.peak[s.Name()] = max(w.peak[s.Name()], n)
		w.mu.Unlock()
	}
	return true
}

// dying is what a process has written when it died of a panic.
func dying(log string) string {
	b, _ := os.ReadFile(log) // nothing tells as well
	_, what, _ := strings.Cut(string(b), "panic: ")
	return what[:min(len(what), 4000)]
}

// resident is how many bytes of memory a process takes; 0 when that is not known.
func resident(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // nothing tells as well
	for line := range strings.Lines(string(b)) {
		if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(kb), " kB"))
			return n << 10
		}
	}
	return 0
}

// endAttack stops the members, and looks at what they say they got.
func (w *world) endAttack() {
	w.Helper()
	if err := w.hostile.Ended(); err != nil {
		w.Error(err)
		return
	}
	if err := w.hostile.Stop(patience); err != nil {
		w.Error(err)
	}
	for _, d := range w.done() {
		if strings.Contains(d.Error, errGained.Error()) {
			w.Errorf("%s by %s: %s", d.Attack, d.By, d.Error)
		}
	}
}

// done are what the members say they did.
func (w *world) done() (all []Done) {
	f, err := os.Open(w.hostile.Log())
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var d Done
		if json.Unmarshal(s.Bytes(), &d) == nil {
			all = append(all, d)
		}
	}
	return all
}

// agree waits until the honest sites agree: what the clients have left is at each application, what the members made is the same at all,
// and the documents are equal. A site that has to start with what the members left on its disk is as good as before.
func (w *world) agree() {
	w.Helper()
	w.equal("the applications are equal")
	for begin := time.Now(); ; {
		for _, s := range w.sites {
			s.Stop(w)
		}
		err := w.documents()
		for _, s := range w.sites {
			s.Start(w)
		}
		if err == nil {
			w.Logf("the documents are equal after %v", time.Since(begin).Round(time.Millisecond))
			break
		}
		if time.Since(begin) > patience {
			w.Fatal(err)
		}
		w.env.Eventually(w, patience, "the sites meet again", func() error { return w.meet() })
		_ = rest(w.Context(), 5*time.Second) // they compare what they have, every few pings
	}
	w.equal("the applications are equal after a start")
}

// equal waits until the applications are equal. Where they do not become so, each site says what it knows of what differs.
func (w *world) equal(what string) {
	w.Helper()
	begin := time.Now()
	for w.applications() != nil && time.Since(begin) < patience {
		if err := rest(w.Context(), 100*time.Millisecond); err != nil {
			w.Fatal(err)
		}
	}
	err := w.applications()
	if err == nil {
		w.Logf("%s after %v", what, time.Since(begin).Round(time.Millisecond))
		return
	}
	w.Errorf("%s: not within %v: %v", what, patience, err)
	var differs differs
	if errors.As(err, &differs) {
		for _, s := range w.sites {
			a := s.API(w, "GET /api/v1/resources?q="+differs.name, "")
			w.Logf("%s says: %.3000s", s.Name(), a.Body)
		}
	}
	w.FailNow()
}

// differs is an object that is not the same at all applications.
type differs struct{ name, how string }

func (d differs) Error() string { return d.how }

// meet says which honest site does not reach another one.
func (w *world) meet() error {
	for _, s := range w.sites {
		seen, err := s.Client().Sites(w.Context())
		if err != nil {
			return err
		}
		for _, x := range seen {
			if !x.Reachable && !x.Self && !strings.HasPrefix(x.Name, prefix) {
				return fmt.Errorf("%s does not reach %s", s.Name(), x.Name)
			}
		}
	}
	return nil
}

// applications says in what the applications differ from each other, or from what the clients left.
func (w *world) applications() error {
	var first map[string]map[string]any
	for _, s := range w.sites {
		a, err := s.RequestApplication(w.Context(), lab.Images, "GET /images", "")
		if err != nil {
			return err
		}
		var list []map[string]any
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil {
			return err
		}
		all := map[string]map[string]any{}
		for _, x := range list {
			name := fmt.Sprint(x["name"])
			if strings.HasPrefix(name, lone) {
				continue
			}
			delete(x, "id")
			delete(x, "updated_at")
			if all[name] != nil {
				return fmt.Errorf("%s has %q twice", s.Name(), name)
			}
			all[name] = x
			if x["description"] == uninvited {
				return differs{name, fmt.Sprintf("%s shows %q as it was changed %s", s.Name(), name, uninvited)}
			}
			if w.want[name] == nil && !strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, "shared-") {
				return fmt.Errorf("%s has %q, which nobody made", s.Name(), name)
			}
		}
		for name, want := range w.want {
			for field, v := range want {
				if all[name][field] != v {
					return differs{name, fmt.Sprintf("%s shows %s of %q as %v, not %v", s.Name(), field, name, all[name][field], v)}
				}
			}
		}
		if first == nil {
			first = all
		}
		if !maps.EqualFunc(first, all, func(x, y map[string]any) bool { return fmt.Sprint(x) == fmt.Sprint(y) }) {
			name, how := differing(first, all)
			return differs{name, fmt.Sprintf("%s shows %d objects, %s %d: %s", s.Name(), len(all), w.sites[0].Name(), len(first), how)}
		}
	}
	return nil
}

func differing(x, y map[string]map[string]any) (name, how string) {
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if fmt.Sprint(x[name]) != fmt.Sprint(y[name]) {
			return name, fmt.Sprintf("%v and %v", x[name], y[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(y)) {
		if x[name] == nil {
			return name, fmt.Sprintf("%v is at one alone", y[name])
		}
	}
	return "", "nothing"
}

// documents says in which document two honest sites differ that hold it. The agents are not running.
func (w *world) documents() error {
	type held struct {
		digest engine.Fingerprint
		with   []engine.SiteID
	}
	stores := make([]*storage.Store, len(w.sites))
	all := make([]map[engine.DocumentID]held, len(w.sites))
	for i, s := range w.sites {
		store, err := storage.Open(s.Config().Data(), storage.Options{})
		if err != nil {
			return err
		}
		defer store.Close()
		stores[i], all[i] = store, map[engine.DocumentID]held{}
		err = store.AllDigests(w.Context(), func(d engine.Digest, peers []engine.SiteID, _ map[engine.SiteID]engine.Fingerprint) {
			all[i][d.Document] = held{d.Digest, peers}
		})
		if err != nil {
			return err
		}
	}
	for i := range all {
		for id, mine := range all[i] {
			j := (i + 1) % len(all)
			theirs, is := all[j][id]
			if len(mine.with) > 1 && (!is || mine.digest != theirs.digest) {
				return fmt.Errorf("%s and %s differ in document %s:\n%s\n%s", w.sites[i].Name(), w.sites[j].Name(), id, w.holds(stores[i], id), w.holds(stores[j], id))
			}
		}
	}
	return nil
}

// holds says what a store has of a document: the ends of lines, what sites have said of themselves, and forks.
func (w *world) holds(s *storage.Store, id engine.DocumentID) string {
	rec, err := s.Record(w.Context(), id)
	if err != nil {
		return err.Error()
	}
	changes, _, err := s.Changes(w.Context(), id, nil, 0)
	if err != nil {
		return err.Error()
	}
	forks, err := s.Forks(w.Context(), id)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s from epoch %d on", rec.Row.Kind, rec.Row.ID, rec.Epoch)
	ends := map[string]int{}
	for _, c := range changes {
		ends[fmt.Sprintf("%s in epoch %d", c.Line, c.Epoch)]++
	}
	for _, line := range slices.Sorted(maps.Keys(ends)) {
		fmt.Fprintf(&b, "\n  %s: %d changes", line, ends[line])
	}
	for _, f := range forks {
		fmt.Fprintf(&b, "\n  %s: forked in epoch %d with change %d", f.Line, f.Epoch, f.Number)
	}
	var statuses []engine.SignedStatus
	_ = engine.Decode(rec.Statuses, &statuses) // nothing tells as well
	for _, signed := range statuses {
		var st engine.Status
		_ = engine.Decode(signed.Status, &st) // it was checked
		fmt.Fprintf(&b, "\n  %s has said %d: epoch %d, whole %v, over %v, rejoins %v, lines %v", signed.Site, st.Number, st.Epoch, st.Whole, st.Over, st.Rejoins, st.Lines)
	}
	return b.String()
}

// named says that no honest site names a member that broke the rules.
func (w *world) named() {
	w.Helper()
	broke, overreached := map[string]bool{}, map[string]bool{}
	for _, d := range w.done() {
		broke[d.By] = true
		if d.Error == "" && (d.Attack == "old removals" || d.Attack == "old admissions" || d.Attack == "names of others") {
			overreached[d.By] = true
		}
	}
	for _, s := range w.sites {
		b, err := os.ReadFile(s.Config().Log())
		if err != nil {
			w.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			_, who, _ := strings.Cut(line, "peer=")
			id, _, _ := strings.Cut(who, " ")
			delete(broke, id)
			if strings.Contains(line, "only authorities of the mesh may") {
				delete(overreached, id)
			}
		}
	}
	for id := range overreached {
		w.Errorf("no site says that %s has said what only authorities may", id)
	}
	for id := range broke {
		w.Errorf("no site names %s", id)
	}
	w.forkers()
}

// forkers says where the sites do not name the same members for having forked lines, and whom they name who has not. A letter may have been
// lost that was to fork one; of many some were not.
func (w *world) forkers() {
	w.Helper()
	forked, times := map[string]bool{}, 0
	for _, d := range w.done() {
		forked[d.By] = forked[d.By] || d.Forked
		if d.Forked {
			times++
		}
	}
	var first map[string]int
	for _, s := range w.sites {
		var told []struct {
			Name   string
			PeerID string `json:"peer_id"`
			Uses   *struct{ Forks int }
		}
		if err := json.Unmarshal([]byte(s.API(w, "GET /api/v1/sites", "").Body), &told); err != nil {
			w.Fatal(err)
		}
		named := map[string]int{}
		for _, x := range told {
			if x.Uses != nil && x.Uses.Forks > 0 {
				named[x.PeerID] = x.Uses.Forks
			}
			if named[x.PeerID] > 0 && !forked[x.PeerID] {
				w.Errorf("%s says that %s (%s) has forked a line, which has not: %s", s.Name(), x.Name, x.PeerID, logged(w, s, x.PeerID, "two different changes"))
			}
		}
		if first == nil {
			first = named
		}
		if !maps.Equal(first, named) || times > 20 && len(named) == 0 {
			w.Errorf("%s tells of these forked lines: %v, %s of %v; there were %d", s.Name(), named, w.sites[0].Name(), first, times)
		}
	}
	w.Logf("forked lines that the sites tell of, by member: %v", first)
}

// logged are the lines of a site's log that have all these words.
func logged(w *world, s *env.Site, words ...string) string {
	w.Helper()
	b, err := os.ReadFile(s.Config().Log())
	if err != nil {
		w.Fatal(err)
	}
	var found strings.Builder
	for line := range strings.Lines(string(b)) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			found.WriteString(line)
		}
	}
	return found.String()
}

// bounded says where a site keeps more of a member's large bodies than it is to.
func (w *world) bounded() {
	w.Helper()
	most := int64(0)
	for _, s := range w.sites {
		var told []struct {
			Name string
			Uses *struct {
				Bodies int64 `json:"bytes_of_bodies"`
			}
		}
		if err := json.Unmarshal([]byte(s.API(w, "GET /api/v1/sites", "").Body), &told); err != nil {
			w.Fatal(err)
		}
		for _, x := range told {
			if x.Uses == nil {
				continue
			}
			if most = max(most, x.Uses.Bodies); x.Uses.Bodies > roomForBodies {
				w.Errorf("%s keeps %d bytes of large bodies of %s, more than %d", s.Name(), x.Uses.Bodies, x.Name, roomForBodies)
			}
		}
	}
	w.Logf("the sites keep up to %d bytes of large bodies of one member", most)
}

// report says what was done, and how much memory it took.
func (w *world) report() {
	w.Helper()
	number, cameToNothing := map[string]int{}, map[string]int{}
	for _, d := range w.done() {
		number[d.Attack]++
		if d.Error != "" {
			cameToNothing[d.Attack]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(number)) {
		w.Logf("%-20s %5d times, of which %d came to nothing", name, number[name], cameToNothing[name])
	}
	w.Logf("%d requests of clients were served", w.reqs)
	for name, n := range w.peak {
		w.Logf("%s took up to %d MiB", name, n>>20)
		if n > mostMemory {
			w.Errorf("%s took %d MiB, more than %d", name, n>>20, mostMemory>>20)
		}
	}
}
