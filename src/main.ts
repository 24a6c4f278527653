#!/usr/bin/env node
import { isatty } from 'node:tty'
import type { Host } from './base/host.ts'

/** Below this the database driver does not fail but takes the whole process down, so nothing else may be loaded before it is checked. */
const OLDEST_NODE = 24
const LINGER_MS = 500

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  process.stderr.write(`submission-mirror needs Node ${OLDEST_NODE} or later, and this is Node ${process.versions.node}\n`)
  process.exit(2)
}

let lastWords = (error: unknown): void => {
  process.stderr.write(
    `submission-mirror stopped because of a fault of its own: ${error instanceof Error ? error.message : String(error)}\n`,
  )
}

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    lastWords(error)
    process.exit(1)
  })
}

/** Whether what was to be said did not arrive where it goes, as in a file on a full disk. What was to be done is done all the same. */
let unheard = false
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Who reads what is written may leave before the end, like `head`, or a terminal that is closed.
  if (unheard || error.code === 'EPIPE' || error.code === 'EIO') return
  unheard = true
  process.exitCode ||= 1
  process.stderr.write(
    `the output cannot be written where it goes (${error.message}): make room there; what was to be done is done all the same\n`,
  )
})
// Of what cannot be said here the exit code tells.
process.stderr.on('error', () => {})

// What is mirrored is personal data: nothing that is written here is for everybody on the machine.
process.umask(0o027)

const stopping = new AbortController()
const stop = (signal: string) => {
  if (stopping.signal.aborted) process.exit(1)
  stopping.abort(new Error(`stopped by ${signal}`))
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)

let askedEarly = false
let reload = () => {
  askedEarly = true
}
process.on('SIGHUP', (signal) => {
  // Whoever closes the terminal that the program was started from asks for no reload; and of all commands `serve` alone has one.
  const closed = process.stdout.isTTY === true && !isatty(1)
  if (closed || process.argv[2] !== 'serve') stop(signal)
  else reload()
})

const host: Host = {
  argv: process.argv.slice(2),
  env: process.env,
  stdout: { write: (text) => process.stdout.write(text), isTTY: process.stdout.isTTY === true, columns: process.stdout.columns },
  stderr: { write: (text) => process.stderr.write(text), isTTY: process.stderr.isTTY === true, columns: process.stderr.columns },
  signal: stopping.signal,
  self: [process.execPath, import.meta.filename],
  onReload(asked) {
    reload = asked
    if (askedEarly) asked()
  },
  onCrash(report) {
    lastWords = report
  },
}

const { main } = await import('./app.ts')
const code = await main(host)
process.exitCode = unheard ? code || 1 : code
// What still holds the event loop, like a connection to a database that does not answer, had its time.
setTimeout(() => process.exit(), LINGER_MS).unref()
