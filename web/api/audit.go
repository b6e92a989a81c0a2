package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/audit"
)

// AuditList is one page of the audit trail, newest first. Next is empty on the last one.
type AuditList struct {
	Items []audit.Record `json:"items"`
	Next  string         `json:"next"`
}

// AuditTrail returns the newest records, those before a number when that is not 0.
func (a *API) AuditTrail(ctx context.Context, before uint64, limit int) (AuditList, error) {
	if limit == 0 {
		limit = 100
	}
	items, next, err := a.Audit.List(ctx, before, limit)
	if err != nil {
		return AuditList{}, err
	}
	list := AuditList{Items: items}
	if next > 0 {
		list.Next = strconv.FormatUint(next, 10)
	}
	return list, nil
}

func (a *API) verifyAudit(c echo.Context) error {
	q, err := params(c, "n", "hash")
	if err != nil {
		return err
	}
	var n uint64
	if q.Get("n") != "" || q.Get("hash") != "" {
		if n, err = strconv.ParseUint(q.Get("n"), 10, 63); err != nil || n == 0 || len(q.Get("hash")) != 64 {
			return badRequest("give n and hash both: the number of a record and its hash, as they were noted")
		}
	}
	v, err := a.Audit.Verify(c.Request().Context(), n, q.Get("hash"))
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}
