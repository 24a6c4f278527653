import { describe, expect, it } from 'vitest'
import { type ServiceGroup, ServiceGroups } from '../../src/app/service-groups.ts'
import { ManualClock, systemClock } from '../../src/base/clock.ts'
import { FatalError } from '../../src/base/errors.ts'
import { silentLog } from '../tools/databases.ts'

class Scene {
  readonly reports: string[] = []
  readonly failures: unknown[] = []
  readonly clock = new ManualClock()
  readonly groups: ServiceGroups

  constructor(clock = systemClock) {
    const onFailure = (error: unknown) => void this.failures.push(error)
    this.groups = new ServiceGroups({ clock, log: silentLog, graceMs: () => 1_000, onFailure })
  }

  /** A group that records its start and end. @param end awaited when it is ended. */
  group(name: string, setting: unknown, end: Promise<void> = Promise.resolve()): ServiceGroup {
    const tell = (what: string) => void this.reports.push(`${name} ${setting}: ${what}`)
    return {
      name,
      settings: [setting],
      make: async () => ({
        services: [
          {
            name,
            async run(signal) {
              tell('begins')
              await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
              await end
              tell('ends')
            },
          },
        ],
        shareAmong: ({ reading }) => tell(`shares among ${reading}`),
        close: async () => tell('closes'),
      }),
    }
  }

  async change(...groups: ServiceGroup[]): Promise<void> {
    await this.groups.change(await this.groups.prepare(groups))
  }

  news(): string[] {
    return this.reports.splice(0)
  }
}

const refuses: ServiceGroup = {
  name: 'refuses',
  settings: [],
  make: async () => {
    throw new Error('its key is no key')
  },
}

describe('groups of services', () => {
  it('that use the same settings as before continue; others end before they start again', async () => {
    const scene = new Scene()
    await scene.change(scene.group('a', 1), scene.group('b', 1))
    expect(scene.news()).toEqual(['a 1: shares among 1', 'a 1: begins', 'b 1: shares among 1', 'b 1: begins'])
    scene.groups.shareAmong({ reading: 3, pushing: 2 })
    scene.news()
    await scene.change(scene.group('a', 1), scene.group('b', 2), scene.group('c', 1))
    expect(scene.news()).toEqual(['b 1: ends', 'b 1: closes', ...begins('b 2'), ...begins('c 1')])
    await scene.change(scene.group('b', 2))
    expect(scene.news()).toEqual(['a 1: ends', 'c 1: ends', 'a 1: closes', 'c 1: closes'])
  })

  it('are all made before any ends: when one cannot be made, nothing has happened', async () => {
    const scene = new Scene()
    await scene.change(scene.group('a', 1))
    scene.news()
    await expect(scene.change(scene.group('a', 2), refuses)).rejects.toThrow('its key is no key')
    expect(scene.news()).toEqual(['a 2: closes'])
    await scene.change(scene.group('a', 1))
    expect(scene.news()).toEqual([])
  })

  it('that do not end in time are broken off, and their successors begin all the same', async () => {
    const clock = new ManualClock()
    const scene = new Scene(clock)
    await scene.change(scene.group('a', 1, new Promise(() => undefined)))
    const changed = scene.change(scene.group('a', 2))
    while (scene.reports.at(-1) !== 'a 2: begins') {
      clock.advance(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    await changed
    expect(scene.news().slice(-3)).toEqual(['a 1: closes', 'a 2: shares among 1', 'a 2: begins'])
  })

  it('start no service once the process stops, even if a start was already decided', async () => {
    const scene = new Scene()
    const end = Promise.withResolvers<void>()
    await scene.change(scene.group('a', 1, end.promise))
    scene.news()
    const changed = scene.change(scene.group('a', 2))
    await new Promise((resolve) => setImmediate(resolve))
    scene.groups.stop('all')
    end.resolve()
    await changed
    expect(scene.news()).toEqual(['a 1: ends', 'a 1: closes', 'a 2: closes'])
  })

  it('report when one of them finds that the process cannot continue', async () => {
    const scene = new Scene()
    const fatal = new FatalError('the store is of a later version')
    const make = async () => ({ services: [{ name: 'a', run: () => Promise.reject(fatal) }] })
    await scene.change({ name: 'a', settings: [], make })
    await scene.groups.ended()
    expect(scene.failures).toEqual([fatal])
  })
})

function begins(who: string): string[] {
  return [`${who}: shares among 3`, `${who}: begins`]
}
