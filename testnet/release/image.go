package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// file is one file of an image, or a folder where it has no body and says so.
type file struct {
	name   string // without a slash before it
	mode   int64
	body   []byte
	owner  int // account and group
	folder bool
}

// What an image is made of, as the Open Container Initiative has it (image specification 1.1).
type (
	descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Platform    *platform         `json:"platform,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	imageIndex struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Manifests     []descriptor `json:"manifests"`
	}
	imageManifest struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}
	imageConfig struct {
		Created string `json:"created"`
		platform
		Config  execution `json:"config"`
		RootFS  rootFS    `json:"rootfs"`
		History []history `json:"history"`
	}
	execution struct {
		User         string
		ExposedPorts map[string]struct{}
		Env          []string
		Entrypoint   []string
		Cmd          []string
		Volumes      map[string]struct{}
		WorkingDir   string
		Labels       map[string]string
		StopSignal   string
	}
	rootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
	history struct {
		Created   string `json:"created"`
		CreatedBy string `json:"created_by"`
	}
)

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// layer is files that an image adds to those of the layers before it.
type layer struct {
	about string
	files []file
}

// archive writes an image as a tar file with the layout that container tools read (oci-archive). It needs no daemon, and the same layers give the
// same bytes.
func archive(w io.Writer, name string, of platform, run execution, layers []layer, at time.Time) error {
	blobs := []file{folder("blobs", 0o755, 0), folder("blobs/sha256", 0o755, 0)}
	add := func(media string, body []byte) descriptor {
		sum := fmt.Sprintf("%x", sha256.Sum256(body))
		blobs = append(blobs, file{name: "blobs/sha256/" + sum, mode: 0o644, body: body})
		return descriptor{MediaType: media, Digest: "sha256:" + sum, Size: len(body)}
	}
	created := at.UTC().Format(time.RFC3339)
	config := imageConfig{Created: created, platform: of, Config: run, RootFS: rootFS{Type: "layers"}}
	manifest := imageManifest{SchemaVersion: 2, MediaType: manifestType}
	for _, l := range layers {
		var plain, packed bytes.Buffer
		if err := pack(&plain, l.files, at); err != nil {
			return err
		}
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(plain.Bytes()); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, fmt.Sprintf("sha256:%x", sha256.Sum256(plain.Bytes())))
		config.History = append(config.History, history{created, l.about})
		manifest.Layers = append(manifest.Layers, add(layerType, packed.Bytes()))
	}
	manifest.Config = add(configType, encode(config))
	top := add(manifestType, encode(manifest))
	top.Platform, top.Annotations = &of, map[string]string{"org.opencontainers.image.ref.name": name, "io.containerd.image.name": name}
	return pack(w, append(blobs,
		file{name: "index.json", mode: 0o644, body: encode(imageIndex{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{top}})},
		file{name: "oci-layout", mode: 0o644, body: []byte(`{"imageLayoutVersion":"1.0.0"}`)}), at)
}

func folder(name string, mode int64, owner int) file {
	return file{name: name, mode: mode, owner: owner, folder: true}
}

// encode writes what has no part that JSON lacks.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// pack writes files as a tar file in the order in which they come, all of one time.
func pack(w io.Writer, files []file, at time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.body)), Uid: f.owner, Gid: f.owner, ModTime: at.UTC(), Format: tar.FormatPAX}
		if f.folder {
			h.Typeflag, h.Name = tar.TypeDir, f.name+"/"
		}
		if err := t.WriteHeader(h); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
		if _, err := t.Write(f.body); err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	return t.Close()
}

// place reads a file of this machine into an image.
func place(name string, mode int64, from string) (file, error) {
	b, err := os.ReadFile(from)
	return file{name: name, mode: mode, body: b}, err
}
