// Package signature checks who signed a bundle's manifest (V-07), with no
// program beside this one. It reads what ssh-keygen -Y sign writes and follows
// ssh-keygen -Y verify in what it accepts.
package signature
