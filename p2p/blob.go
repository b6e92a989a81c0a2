package p2p

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/skerry/skerry/engine"
)

// The blob protocol. A blobRequest names a blob and the first chunk that the asker lacks. The answer is a blobAnswer, with the
// digests of all chunks if they were asked for, and after it the chunks up to the last, one after the other without anything
// between them: their lengths follow from the blob's size. The asker checks each before it takes the next.
const (
	blobProtocol = engine.BlobCall
	// maxBlobRequest is the most bytes of a request; an answer may be as long as the digests of the largest blob.
	maxBlobRequest = engine.MaxBlobFrame
)

type blobRequest struct {
	Document engine.DocumentID `cbor:"1,keyasint"`
	Blob     engine.BlobRef    `cbor:"2,keyasint"`
	First    int64             `cbor:"3,keyasint"`
	Digests  bool              `cbor:"4,keyasint,omitempty"`
}

type blobAnswer struct {
	Found   bool   `cbor:"1,keyasint"`
	Digests []byte `cbor:"2,keyasint,omitempty"`
}

func (r blobRequest) check() error {
	if !r.Document.Valid() {
		return fmt.Errorf("blob request: %w: no document", engine.ErrRefused)
	}
	if err := r.Blob.Validate(); err != nil {
		return fmt.Errorf("blob request: %w", err)
	}
	if r.First < 0 || r.First >= r.Blob.Chunks() {
		return fmt.Errorf("blob request: %w: no chunk %d", engine.ErrRefused, r.First)
	}
	return nil
}

// Fetch implements engine.Network.
func (n *Network) Fetch(ctx context.Context, from engine.SiteID, document engine.DocumentID, ref engine.BlobRef, into engine.Incoming) error {
	err := n.fetchBlob(ctx, from, document, ref, into)
	if errors.Is(err, engine.ErrRefused) {
		n.refuse(from, err)
	}
	if err != nil {
		return fmt.Errorf("fetch blob %s from %s: %w", ref.Hash, from, err)
	}
	return nil
}

func (n *Network) fetchBlob(ctx context.Context, from engine.SiteID, document engine.DocumentID, ref engine.BlobRef, into engine.Incoming) error {
	l := n.link(from)
	if l == nil {
		return fmt.Errorf("%w: no other member", engine.ErrUnreachable)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opening, stopOpening := context.WithTimeout(network.WithNoDial(ctx, "blob"), openTimeout)
	s, err := n.host.NewStream(opening, l.pid, blobProtocol)
	stopOpening()
	if err != nil {
		return fmt.Errorf("%w: %w", engine.ErrUnreachable, err)
	}
	whole := false
	defer end(s, &whole)
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()

	request := blobRequest{Document: document, Blob: ref, First: into.Next(), Digests: into.Digests() == nil}
	_ = s.SetWriteDeadline(time.Now().Add(stall))
	if err := writeFrame(s, request, maxBlobRequest); err != nil {
		return err
	}
	// The other side may have answered and be done with the stream by now, which is an error to CloseWrite and none to us.
	_ = s.CloseWrite()
	if err := takeBlob(newFrameReader(patient{s}), ref, into); err != nil {
		return err
	}
	whole = true
	return nil
}

// takeBlob reads the answer to a request for what into lacks.
func takeBlob(r *frameReader, ref engine.BlobRef, into engine.Incoming) error {
	var answer blobAnswer
	if err := r.read(&answer, maxFrame); err != nil {
		return err
	}
	if !answer.Found {
		return engine.ErrNotFound
	}
	if into.Digests() == nil {
		if err := into.SetDigests(answer.Digests); err != nil {
			return err
		}
	}
	buffer := make([]byte, ref.ChunkLen(0))
	for i := into.Next(); i < ref.Chunks(); i++ {
		chunk := buffer[:ref.ChunkLen(i)]
		if _, err := io.ReadFull(r.r, chunk); err != nil {
			return fmt.Errorf("chunk %d: %w", i, err)
		}
		if err := into.Add(chunk); err != nil {
			return err
		}
	}
	return nil
}

// patient is a stream that fails when nothing comes, or nothing is taken, for a while.
type patient struct{ network.Stream }

func (p patient) Read(b []byte) (int, error) {
	_ = p.SetReadDeadline(time.Now().Add(stall))
	return p.Stream.Read(b)
}

func (p patient) Write(b []byte) (int, error) {
	_ = p.SetWriteDeadline(time.Now().Add(stall))
	return p.Stream.Write(b)
}

// serveBlob answers one request of a member. It gets only blobs of documents in which it has a part.
func (n *Network) serveBlob(ctx context.Context, l *link, s network.Stream) {
	whole := false
	defer end(s, &whole)
	stop := context.AfterFunc(ctx, func() { _ = s.Reset() })
	defer stop()
	var request blobRequest
	err := newFrameReader(patient{s}).read(&request, maxBlobRequest)
	if err == nil {
		err = request.check()
	}
	if errors.Is(err, engine.ErrRefused) {
		n.refuse(l.site, err)
	}
	if err != nil {
		return
	}
	if err := n.giveBlob(ctx, patient{s}, l.site, request); err != nil {
		n.log.Debug("a blob was not given", "peer", l.site, "document", request.Document, "err", err)
		return
	}
	whole = true
}

// giveBlob writes the answer to a request.
func (n *Network) giveBlob(ctx context.Context, w io.Writer, to engine.SiteID, request blobRequest) error {
	digests, content, err := n.exchange.Blob(ctx, to, request.Document, request.Blob, request.First)
	if errors.Is(err, engine.ErrNotFound) {
		return writeFrame(w, blobAnswer{}, maxFrame)
	}
	if err != nil {
		return err
	}
	defer content.Close()
	answer := blobAnswer{Found: true}
	if request.Digests {
		answer.Digests = digests
	}
	if err := writeFrame(w, answer, maxFrame); err != nil {
		return err
	}
	_, err = io.CopyBuffer(w, onlyReader{content}, make([]byte, 64<<10))
	return err
}

// onlyReader keeps io.CopyBuffer from other ways than reading, so that each write has its own time.
type onlyReader struct{ io.Reader }
