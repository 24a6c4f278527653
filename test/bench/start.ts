import { newSqlite } from '../tools/databases.ts'
import { startServe } from './serve-process.ts'
import { atMost, type BenchRow, median } from './table.ts'

const STARTS = 7

/** From the start of the process to "ready", on a new and an existing database. */
export async function startBench(): Promise<BenchRow[]> {
  const fresh: number[] = []
  const again: number[] = []
  for (let n = 0; n < STARTS; n++) {
    const place = newSqlite()
    for (const times of [fresh, again]) {
      const serve = await startServe({ DATABASE_URL: `sqlite:${place.config.path}` })
      times.push(serve.readyMs)
      await serve.stop()
    }
    await place.remove()
  }
  return [atMost('start to ready, new database', 'ms', median(fresh), 1_500), atMost('start to ready', 'ms', median(again), 1_500)]
}
