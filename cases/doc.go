// Package cases has no code of its own: its tests play the faults known from the
// field (streams, transports, methods of measuring) and generated campaigns
// through the whole pipeline, from bytes on a wire to the views.
package cases
