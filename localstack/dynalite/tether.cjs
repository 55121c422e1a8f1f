// Loaded into dynalite's process before it starts. It ends the process when
// the parent's end of standard input closes, however the parent died, and it
// keeps one client that hangs up in the middle of a request from ending the
// server for all the others (dynalite throws such errors).
'use strict'

process.stdin.on('end', () => process.exit(0))
process.stdin.on('error', () => process.exit(0))
process.stdin.resume()

process.on('uncaughtException', (err) => {
  if (err && (err.code === 'ECONNRESET' || err.code === 'EPIPE' || err.message === 'aborted')) return
  console.error(err && err.stack || err)
  process.exit(1)
})
