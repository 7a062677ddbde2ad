package campaign

import (
	"assay/collect/plan"
	"assay/collect/record"
	"assay/collect/stream"
	"assay/collect/workload"
)

// prepared is a request that is ready to send: prompt, hash and body exist
// before its clock starts.
type prepared struct {
	row  record.Request
	body []byte
}

// prepare builds one request of a cell.
func prepare(c plan.Cell, index int64) (prepared, error) {
	prompt, err := workload.Build(c, index)
	if err != nil {
		return prepared{}, err
	}
	body, err := workload.Body(c, prompt)
	if err != nil {
		return prepared{}, err
	}
	return prepared{body: body, row: record.Request{
		Index: index, Marker: prompt.Marker, TemplateVersion: workload.TemplateVersion,
		PromptSHA256: prompt.SHA256, PromptChars: int64(len(prompt.Text)), BodyBytes: int64(len(body)),
	}}, nil
}

// withheld is the row of a request that was never sent.
func withheld(p prepared, reason string) record.Request {
	row := p.row
	row.End, row.EndDetail = "not_dispatched", reason
	return row
}

// rows turns one exchange into its stored form, copying nothing and computing
// nothing.
func rows(p prepared, worker int64, gapNs *int64, anchor record.Anchor, res *stream.Result) (record.Request, []record.Event) {
	row := p.row
	t0, _ := anchor.At(res.T0)
	row.Worker, row.T0Ns, row.T0UnixNs, row.IdleGapNs = &worker, &t0, &res.T0UnixNs, gapNs
	row.DNSNs, row.ConnectNs, row.TLSNs, row.WroteNs = res.DNSNs, res.ConnectNs, res.TLSNs, res.WroteNs
	row.FirstByteNs, row.HeadNs, row.LastByteNs = res.FirstByteNs, res.HeadNs, res.LastByteNs
	row.CloseNs, row.EndNs = res.CloseNs, res.EndNs
	row.HTTPStatus, row.HTTPVersion, row.ContentType = res.HTTPStatus, res.HTTPVersion, res.ContentType
	row.ResponseHead, row.Framing = res.Head, string(res.Framing)
	row.End, row.EndDetail, row.WriteError = string(res.End), res.EndDetail, res.BodyWriteError
	row.BytesSent, row.BytesReceived = res.BytesSent, res.BytesReceived
	row.Reads, row.StampedReads = res.Reads, res.StampedReads
	row.EventsSeen = int64(len(res.Events))
	row.Body, row.BodyTruncated = res.Body, res.BodyTruncated
	row.Tail, row.Trailing, row.TrailingTruncated = res.Tail, res.Trailing, res.TrailingTruncated

	events := make([]record.Event, len(res.Events))
	for i := range res.Events {
		e := &res.Events[i]
		events[i] = record.Event{
			Request: row.Index, Seq: e.Seq, ReadSeq: e.ReadSeq, ReadNs: e.ReadNs, ReadUnixNs: e.ReadUnixNs,
			KernelUnixNs: e.Kernel(), ReadBytes: e.ReadBytes, Name: e.Name, Payload: e.Payload,
		}
	}
	return row, events
}
