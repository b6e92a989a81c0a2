package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
)

func (s *Service) serveFile(w http.ResponseWriter, r *http.Request) {
	i := s.get(r.PathValue("id"))
	if i == nil {
		s.missing(r).write(w)
		return
	}
	f, err := os.Open(s.filePath(r.PathValue("id")))
	if errors.Is(err, fs.ErrNotExist) {
		refuse(http.StatusNotFound, "it has no file yet").write(w)
		return
	}
	if err != nil {
		refuse(http.StatusInternalServerError, err.Error()).write(w)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		refuse(http.StatusInternalServerError, err.Error()).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// serveFilePut streams the body to disk and puts it in place whole.
func (s *Service) serveFilePut(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if s.get(id) == nil {
		s.missing(r).write(w)
		return
	}
	size, temporary, err := s.receive(r.Body)
	if err != nil {
		refuse(http.StatusBadRequest, "the file did not arrive whole: "+err.Error()).write(w)
		return
	}
	defer os.Remove(temporary) // gone already when the file is in its place
	s.edit(w, r, func(old *item) (map[string]any, *problem) {
		fields, p := object(old.Body)
		if p != nil {
			return nil, p
		}
		if err := os.Rename(temporary, s.filePath(id)); err != nil {
			return nil, &problem{http.StatusInsufficientStorage, err.Error()}
		}
		fields["size"], fields["status"] = json.Number(fmt.Sprint(size)), "active"
		return fields, nil
	})
}

func (s *Service) receive(body io.Reader) (size int64, path string, err error) {
	f, err := os.CreateTemp(s.files, ".upload-*")
	if err != nil {
		return 0, "", err
	}
	size, err = io.Copy(f, body)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return 0, "", errors.Join(err, os.Remove(f.Name()))
	}
	return size, f.Name(), nil
}
