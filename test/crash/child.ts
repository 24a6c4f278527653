// A composition in its own process. It reads orders from stdin and reports results on stdout.
import { spawnSync } from 'node:child_process'
import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import { Composition } from './composition.ts'

const composition = new Composition({
  say(line) {
    if (line.startsWith('ready')) flushCompileCache()
    console.log(line)
  },
  // The system ends the process before this call returns.
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  setDiskFull: (isFull) => limitFiles(isFull ? '0' : 'unlimited'),
  exit: (code) => process.exit(code),
})

/** Simulates a full disk by the soft limit on file size, which a user may raise again. */
function limitFiles(bytes: string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the size of files could not be limited: ${stderr}`)
}

const orders = createInterface({ input: process.stdin })
// Saves compiled code for the next process; a killed process can't save it at its end.
orders.on('line', (line) => {
  if (composition.isServing) flushCompileCache()
  composition.obey(line)
})
// The test that gave the orders has ended.
orders.on('close', () => process.exit(1))
