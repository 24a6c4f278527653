import type { FilesWritten } from '../../store/outbox/progress.ts'
import { eachOf } from './batch.ts'
import type { Drop } from './drop.ts'
import { deliveryOf, namesListed, temporaryName } from './names.ts'

/**
 * Gives the files of an earlier delivery their final names, as its manifest lists them. Any process may do so, also several at a time: a
 * temporary file that is missing has its final name, or a reader has taken it away since.
 * @returns false if the manifest was removed or changed from outside. Its files are removed then, and the rows must be written again.
 */
export async function finishDelivery(drop: Drop, destination: string, { delivery, manifest }: FilesWritten): Promise<boolean> {
  const left = async () => new Set((await drop.list((name) => deliveryOf(destination, name) === delivery)).map(({ name }) => name))
  const found = await left()
  // The manifest is renamed last.
  if (found.size === 0) return true
  const renameLeft = async (from: string, to: string) => {
    if (!found.has(from)) return
    try {
      await drop.rename(from, to)
    } catch (error) {
      // Another process may have renamed it.
      if ((await left()).has(from)) throw error
    }
  }
  const listed = temporaryName(destination, delivery)
  const names = found.has(listed) ? namesListed(await drop.read(listed)) : null
  if (names === null) {
    await eachOf(drop, [...found], (name) => drop.remove(name))
    return false
  }
  await eachOf(drop, names, (name, index) => renameLeft(temporaryName(destination, delivery, index), name))
  await drop.sync()
  await renameLeft(listed, manifest)
  await drop.sync()
  return true
}
