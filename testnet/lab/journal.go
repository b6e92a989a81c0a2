package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// record is one line of a journal: the state of one item after one request, and the answer that request got if
// it came with an Idempotency-Key. One line, so that a crash leaves both or none.
type record struct {
	ID string `json:"id"`
	// Item is nil when the item was deleted.
	Item   *item  `json:"item,omitempty"`
	Key    string `json:"key,omitempty"`
	Answer *reply `json:"answer,omitempty"`
}

// journal keeps a service's data in a file of JSON lines. What append has written survives the end of the
// process; it is not synced, since lab promises nothing about power cuts.
type journal struct {
	file *os.File
}

// openJournal hands each record of the file to replay, drops a torn last line, and opens it for more.
func openJournal(path string, replay func(record) error) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	end, err := replayLines(f, replay)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, joinClose(err, f))
	}
	return &journal{file: f}, nil
}

// replayLines returns where the last whole line ends.
func replayLines(f io.Reader, replay func(record) error) (end int64, err error) {
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		var rec record
		d := json.NewDecoder(bytes.NewReader(line))
		if err := d.Decode(&rec); err != nil {
			return 0, fmt.Errorf("at byte %d: %w", end, err)
		}
		if err := replay(rec); err != nil {
			return 0, err
		}
		end += int64(len(line))
	}
}

func (j *journal) append(r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(b, '\n'))
	return err
}

// Close closes the file.
func (j *journal) Close() error { return j.file.Close() }

func joinClose(err error, c io.Closer) error {
	if cerr := c.Close(); cerr != nil {
		return fmt.Errorf("%w (and %w)", err, cerr)
	}
	return err
}
