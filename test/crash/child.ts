// A composition in a process of its own: it takes its orders from stdin and says to stdout what became of them.
import { spawnSync } from 'node:child_process'
import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import { Composition } from './composition.ts'

const composition = new Composition({
  say(line) {
    if (line.startsWith('ready')) flushCompileCache()
    console.log(line)
  },
  // No line after this one runs: the system has ended the process before the call returns.
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  setDiskFull: (isFull) => limitFiles(isFull ? '0' : 'unlimited'),
  exit: (code) => process.exit(code),
})

/** The soft limit on the size of files stands for the end of the disk: a user may raise it again. */
function limitFiles(bytes: string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the size of files could not be limited: ${stderr}`)
}

const orders = createInterface({ input: process.stdin })
// What was compiled is kept for the next process: whoever is killed cannot do it at its end. Once it serves, most of what it needs is there.
orders.on('line', (line) => {
  if (composition.isServing) flushCompileCache()
  composition.obey(line)
})
// Whoever gave the orders is gone, be it in the middle of a test.
orders.on('close', () => process.exit(1))
