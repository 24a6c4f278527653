#!/usr/bin/env node
import { basename, delimiter, dirname, join, relative, resolve } from 'node:path'
import { isatty } from 'node:tty'
import type { Host, Output } from './base/host.ts'

/**
 * Oldest supported Node version. The database driver crashes on older versions, so the version is checked before
 * other modules load.
 */
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

/** Whether a write to standard output failed, for example because the disk is full. The command still completes. */
let outputFailed = false
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `head` and a closed terminal stop reading early. This isn't an error.
  if (outputFailed || error.code === 'EPIPE' || error.code === 'EIO') return
  outputFailed = true
  process.exitCode ||= 1
  process.stderr.write(`the output cannot be written (${error.message}): free space where it is written; the command continues\n`)
})
// Ignore failed writes to stderr. The exit code still reports the result.
process.stderr.on('error', () => {})

// Mirrored data is personal. Only the owner and the group can read files that this process creates.
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
  // If the terminal was closed, SIGHUP stops the command. Otherwise, SIGHUP reloads the settings of `serve` and stops
  // all other commands.
  const closed = process.stdout.isTTY === true && !isatty(1)
  if (closed || words[0] !== 'serve') stop(signal)
  else reload()
})

// Libraries read NO_COLOR, but not the option `--no-color`.
if (process.argv.includes(NO_COLOR)) process.env['NO_COLOR'] = '1'

const outputOf = (stream: NodeJS.WriteStream): Output => ({
  write: (text) => stream.write(text),
  isTTY: stream.isTTY === true,
  hasColors: stream.isTTY === true && stream.hasColors(),
  columns: stream.columns,
})

/**
 * @returns the command that a person types to start this program. If SUBMISSION_MIRROR_COMMAND is set, returns its
 * value. The image and docker/compose.yaml set this variable.
 */
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
  // In a clone, `npx node` runs the Node version that npm installed.
  if (inside === join('src', 'main.ts')) return `npx node ${inside}`
  return `${process.execPath} ${isInside ? inside : script}`
}

const host: Host = {
  argv: words,
  env: process.env,
  // A getter, so that stdin is opened only by commands that read it. An open stdin keeps the process alive.
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
// Exit even if handles are open, such as a connection to an unresponsive database.
setTimeout(() => process.exit(), LINGER_MS).unref()
