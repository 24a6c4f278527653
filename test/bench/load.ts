import { type Child, startChild } from '../tools/child.ts'
import type { Job, LoadResult } from './children/receive-load.ts'

export interface Load {
  send(job: Job): Promise<LoadResult>
  stop(): Promise<void>
}

export async function startLoad(): Promise<Load> {
  const child: Child = startChild('bench/children/receive-load.ts', [])
  await child.says('ready')
  return {
    async send(job) {
      child.tell(JSON.stringify(job))
      const result = JSON.parse(await child.says('result')) as LoadResult
      if (result.refused > 0) throw new Error(`${result.refused} deliveries were refused`)
      return result
    },
    stop: () => child.kill(),
  }
}
