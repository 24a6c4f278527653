#!/usr/bin/env node
import { basename, delimiter, dirname, join, relative, resolve } from 'node:path'
import { isatty } from 'node:tty'
import type { Host, Output } from './base/host.ts'

/** On an older Node the database driver crashes the process, so the version is checked before anything else is loaded. */
const OLDEST_NODE = 24
const LINGER_MS = 500
const NO_COLOR = '--no-color'

if (Number.parseInt(process.versions.node, 10) < OLDEST_NODE) {
  process.stderr.write(
    `submission-mirror needs Node ${OLDEST_NODE} or later, and this is Node ${process.versions.node}. Install it, or use \`npx node\` in a clone.\n`,
  )
  process.exit(2)
}

let reportCrash = (error: unknown): void => {
  process.stderr.write(
    `submission-mirror stopped because of an internal error: ${error instanceof Error ? error.message : String(error)}\n`,
  )
}

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    reportCrash(error)
    process.exit(1)
  })
}

/** Whether standard output couldn't be written, for example because the disk is full. The command still completes. */
let outputFailed = false
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader such as `head` or a closed terminal may stop early. That's not an error.
  if (outputFailed || error.code === 'EPIPE' || error.code === 'EIO') return
  outputFailed = true
  process.exitCode ||= 1
  process.stderr.write(`the output cannot be written (${error.message}): free space where it is written; the command continues\n`)
})
// If stderr fails, only the exit code is left.
process.stderr.on('error', () => {})

// Mirrored data is personal, so other users can't read files written here.
process.umask(0o027)

const words = process.argv.slice(2).filter((word) => word !== NO_COLOR)

const stopping = new AbortController()
const stop = (signal: string) => {
  if (stopping.signal.aborted) process.exit(1)
  stopping.abort(new Error(`stopped by ${signal}`))
}
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)

let reloadRequestedEarly = false
let reload = () => {
  reloadRequestedEarly = true
}
process.on('SIGHUP', (signal) => {
  // A closed terminal also sends SIGHUP. Only `serve` can reload, so otherwise SIGHUP means stop.
  const closed = process.stdout.isTTY === true && !isatty(1)
  if (closed || words[0] !== 'serve') stop(signal)
  else reload()
})

// Libraries read this variable too.
if (process.argv.includes(NO_COLOR)) process.env['NO_COLOR'] = '1'

const outputOf = (stream: NodeJS.WriteStream): Output => ({
  write: (text) => stream.write(text),
  isTTY: stream.isTTY === true,
  hasColors: stream.isTTY === true && stream.hasColors(),
  columns: stream.columns,
})

/** The command that starts this program. The image and docker/compose.yaml set it in a variable. */
function ownCommand(): string {
  const { SUBMISSION_MIRROR_COMMAND: command, PATH = '' } = process.env
  if (command) return command
  const script = resolve(process.argv[1] ?? import.meta.filename)
  const inside = relative('', script)
  const isInside = !inside.startsWith('..')
  const installed = basename(script) === 'submission-mirror'
  if (installed && isInside && inside === join('node_modules', '.bin', 'submission-mirror')) return 'npx submission-mirror'
  if (installed && PATH.split(delimiter).includes(dirname(script))) return 'submission-mirror'
  if (installed) return script
  // In a clone, npm provides the right Node version.
  if (inside === join('src', 'main.ts')) return `npx node ${inside}`
  return `${process.execPath} ${isInside ? inside : script}`
}

const host: Host = {
  argv: words,
  env: process.env,
  // Opened only when read: an open stdin keeps the process alive.
  get stdin() {
    return process.stdin
  },
  stdout: outputOf(process.stdout),
  stderr: outputOf(process.stderr),
  signal: stopping.signal,
  self: [process.execPath, import.meta.filename],
  command: ownCommand(),
  onReload(asked) {
    reload = asked
    if (reloadRequestedEarly) asked()
  },
  onCrash(report) {
    reportCrash = report
  },
}

const { main } = await import('./app.ts')
const code = await main(host)
process.exitCode = outputFailed ? code || 1 : code
// Don't wait for open handles, such as a connection to an unresponsive database.
setTimeout(() => process.exit(), LINGER_MS).unref()
