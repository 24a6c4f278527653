import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { programPath } from '../tools/program.ts'

/** Runs a command with one stream on a full disk. @returns its exit code, and the other stream. */
async function withFull(stream: 'stdout' | 'stderr', args: readonly string[]): Promise<[number | null, string]> {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [programPath('main'), ...args], {
    stdio: stream === 'stdout' ? ['ignore', full, 'pipe'] : ['ignore', 'pipe', full],
  })
  closeSync(full)
  const other = child.stdout ?? child.stderr
  if (other === null) throw new Error('one of them is a pipe')
  const [said] = await Promise.all([text(other), once(child, 'close')])
  return [child.exitCode, said]
}

it('a command whose output cannot be written says so, blames the disk and not itself, and ends with 1', async () => {
  expect(await withFull('stdout', ['--help'])).toEqual([
    1,
    'the output cannot be written (ENOSPC: no space left on device, write): free space where it is written; the command continues\n',
  ])
})

it('a command that cannot print its problems keeps its exit code', async () => {
  expect(await withFull('stderr', ['nonsense'])).toEqual([2, ''])
})
