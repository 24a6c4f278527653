import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { childrenOf, isAlive } from '../../tools/processes.ts'

export function evaluators(pid: number | undefined): number[] {
  return childrenOf(pid).filter((child) => readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('template-process'))
}

export async function endEvaluators(): Promise<void> {
  const idle = evaluators(process.pid)
  for (const pid of idle) process.kill(pid, 'SIGKILL')
  await expect.poll(() => idle.filter(isAlive)).toEqual([])
}
