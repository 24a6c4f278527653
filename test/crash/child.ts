// `serve`, put together as the program does it, in a process that ends where a test says. It is told, a line each:
//   start ENV        the settings, as JSON
//   arm POINT N HOW  at the Nth time from now that it comes to POINT it is killed; or (HOW is `throw`) the store fails that once, or
//                    (`refuse`) refuses what is written, that time and ever after
//   stop             as by SIGTERM
import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import { type Serving, startServing } from '../../src/app/serving.ts'
import { loadConfig } from '../../src/config.ts'
import { messageOf, TransientError } from '../../src/errors.ts'

const armed = new Map<string, { left: number; readonly how: string }>()

function failPoint(point: string): void {
  const here = armed.get(point)
  if (!here) return
  here.left -= 1
  if (here.left > 0) return
  if (here.how === 'refuse') throw new Error(`the store refuses what is written at ${point}`)
  armed.delete(point)
  if (here.how === 'throw') throw new TransientError(`the store fails at ${point}`)
  // No line after this one runs: the system has ended the process before the call returns.
  process.kill(process.pid, 'SIGKILL')
}

let serving: Serving | undefined

async function obey(line: string): Promise<void> {
  const [order, ...words] = line.split(' ')
  if (order === 'arm') {
    const [point = '', n = '1', how = 'kill'] = words
    armed.set(point, { left: Number(n), how })
    console.log('armed')
  }
  if (order === 'start') {
    serving = await startServing(loadConfig(JSON.parse(words.join(' '))), { role: 'all', overrides: { failPoint } })
    serving.failed.catch(fail)
    console.log('ready', serving.receiver)
  }
  if (order === 'stop') {
    await serving?.stop()
    console.log('stopped')
    process.exit(0)
  }
}

function fail(error: unknown): void {
  console.log('failed', messageOf(error))
  process.exit(1)
}

createInterface({ input: process.stdin }).on('line', (line) => void obey(line).catch(fail))
// Whoever is killed cannot do it at its end.
flushCompileCache()
console.log('loaded')
