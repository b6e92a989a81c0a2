package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/handbook"
)

func TestTheSameFilesGiveTheSameImage(t *testing.T) {
	made := func(text string) string {
		var b bytes.Buffer
		layers := []layer{{"one", []file{folder("etc", 0o755, 0), {name: "etc/passwd", mode: 0o644, body: []byte(text)}}}}
		if err := archive(&b, "localhost/skerry:v1", platform{"amd64", "linux"}, started(&debug.BuildInfo{}), layers, time.Unix(1_700_000_000, 0)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	first, again := made("a"), made("a")
	if first != again || first == made("b") {
		t.Error("an image does not follow from its files")
	}
}

// TestImage makes an image, takes it apart as a container tool does, and runs what it starts on its files alone.
func TestImage(t *testing.T) {
	script, err := filepath.Abs("testdata/contained.sh")
	if err != nil {
		t.Fatal(err)
	}
	program, folder := described(t), t.TempDir()
	path := filepath.Join(folder, "image")
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	run(t, "go", "run", "./testnet/release", "image", program, path) // a process of its own: the race detector makes packing take minutes
	made, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(folder, "root")
	config := apart(t, made, root)
	if config.Config.User != "65532:65532" || config.OS != "linux" || config.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("the image is %+v", config)
	}
	if err := os.Chmod(folder, 0o755); err != nil { // the account of the image goes through it
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--mount", "--net", "bash", script, root, config.Config.User}, append(config.Config.Entrypoint, config.Config.Cmd...)...)
	out := run(t, "unshare", args...)
	if !regexp.MustCompile(`(?m)^paris .*this site`).MatchString(out) {
		t.Errorf("no agent has answered:\n%s", out)
	}
	podman(t, path)
}

// podman runs what docs/install.md has for an image, with the podman of Debian. What that keeps goes with the test.
func podman(t *testing.T, image string) {
	t.Helper()
	folder := t.TempDir()
	variables, err := handbook.Podman(folder)
	if err != nil {
		t.Fatal(err)
	}
	err = handbook.Blocks(".", "testnet/release podman", func(_ string, b handbook.Block) error {
		argv := slices.Concat([]string{"--mount", "--net", "--pid", "--fork", "--mount-proc", "env"}, variables,
			[]string{"bash", "-eu", "-o", "pipefail", "-c", fmt.Sprintf(podmanMachine, folder, image, b.Commands), "bash", "packaging/examples"})
		out := run(t, "unshare", argv...)
		if !regexp.MustCompile(`(?m)^Loaded image: localhost/skerry:(?s:.*)^paris .*this site(?s:.*)agent has stopped(?s:.*)^stopped: 0$`).MatchString(out) {
			return fmt.Errorf("no agent has answered in a container:\n%s", out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// podmanMachine has an image and a site's configuration where the page says, leaves the last command running, asks the agent, and stops it.
const podmanMachine = `mount -t tmpfs tmpfs /run
ip link set lo up
mkdir %[1]s/dist
cp -r $1 %[1]s/etc
cd %[1]s
ln -s %[2]s dist/skerry_amd64.oci.tar
%[3]s > said 2>&1 &
for try in {1..100}; do podman exec -l skerry sites && break; sleep 0.2; done
podman stop -l
wait $! && status=0 || status=$?
cat said
echo "stopped: $status"
`

// apart unpacks an image's archive into a folder and compares everything with the sum that it is named by.
func apart(t *testing.T, image []byte, root string) imageConfig {
	t.Helper()
	entries := map[string][]byte{}
	each(t, bytes.NewReader(image), func(h *tar.Header, body []byte) { entries[h.Name] = body })
	blob := func(d descriptor) []byte {
		b, there := entries["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if !there || len(b) != d.Size || digest(b) != d.Digest {
			t.Fatalf("the blob %s of %d bytes is not what is there under its name", d.Digest, d.Size)
		}
		return b
	}
	if string(entries["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Fatalf("the layout is %q", entries["oci-layout"])
	}
	index := decode[imageIndex](t, entries["index.json"])
	manifest := decode[imageManifest](t, blob(index.Manifests[0]))
	config := decode[imageConfig](t, blob(manifest.Config))
	if len(manifest.Layers) != len(config.RootFS.DiffIDs) {
		t.Fatalf("%d layers, %d sums of them", len(manifest.Layers), len(config.RootFS.DiffIDs))
	}
	for i, l := range manifest.Layers {
		z, err := gzip.NewReader(bytes.NewReader(blob(l)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if digest(plain) != config.RootFS.DiffIDs[i] {
			t.Errorf("layer %d has another sum unpacked", i)
		}
		each(t, bytes.NewReader(plain), func(h *tar.Header, body []byte) {
			if err := unpack(root, h, body); err != nil {
				t.Fatal(err)
			}
		})
	}
	return config
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

func decode[T any](t *testing.T, b []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return v
}

// each calls do with every entry of a tar file.
func each(t *testing.T, r io.Reader, do func(*tar.Header, []byte)) {
	t.Helper()
	for entries := tar.NewReader(r); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(entries)
		if err != nil {
			t.Fatal(err)
		}
		do(h, b)
	}
}

// unpack puts one entry of a layer where it belongs.
func unpack(root string, h *tar.Header, body []byte) error {
	path := filepath.Join(root, h.Name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil && h.Typeflag == tar.TypeDir {
		err = os.MkdirAll(path, 0o755)
	} else if err == nil {
		err = os.WriteFile(path, body, 0o600)
	}
	return errors.Join(err, os.Chmod(path, h.FileInfo().Mode()), os.Lchown(path, h.Uid, h.Gid))
}

func TestAuthoritiesOfNoPackageAreAnError(t *testing.T) {
	if _, err := authorities(t.TempDir()); err == nil {
		t.Error("an image without authorities is taken")
	}
}

func TestTagsHaveNoOtherCharacters(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "localhost/skerry:v1.2.3", "v0.1.0-2026+dirty": "localhost/skerry:v0.1.0-2026-dirty", "(devel)": "localhost/skerry:devel"} {
		if got := called(version); got != want {
			t.Errorf("%s is called %s", version, got)
		}
	}
}
