import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { NotFoundWave } from '../../src/poll/not-found-wave.ts'

describe('trap 48: a wave of "not found"', () => {
  it('is seen when half of what was asked about is missing, and enough of it', () => {
    const wave = new NotFoundWave(new ManualClock())
    for (let n = 0; n < 4; n++) wave.note(`gone ${n}`, 'events', true)
    expect(wave.isWave(100)).toBe(false)
    wave.note('gone 4', 'events', true)
    expect(wave.isWave(100)).toBe(true)
    for (let n = 0; n < 5; n++) wave.note(`found ${n}`, 'events', false)
    expect(wave.isWave(100)).toBe(true)
    wave.note('found 5', 'events', false)
    expect(wave.isWave(100)).toBe(false)
  })

  it('is not seen when most are found', () => {
    const wave = new NotFoundWave(new ManualClock())
    for (let n = 0; n < 20; n++) wave.note(`found ${n}`, 'events', false)
    for (let n = 0; n < 5; n++) wave.note(`gone ${n}`, 'events', true)
    expect(wave.isWave(100)).toBe(false)
  })

  it('takes all of a small account, but never a single submission', () => {
    const wave = new NotFoundWave(new ManualClock())
    wave.note('a', 'events', true)
    expect(wave.isWave(1)).toBe(false)
    wave.note('b', 'events', true)
    expect(wave.isWave(2)).toBe(true)
  })

  it('forgets what is older than its window, and counts a submission by its last answer', () => {
    const clock = new ManualClock()
    const wave = new NotFoundWave(clock)
    for (let n = 0; n < 5; n++) wave.note(`${n}`, 'events', true)
    for (let n = 0; n < 3; n++) wave.note(`${n}`, 'events', false)
    expect(wave.isWave(100)).toBe(false)
    for (let n = 0; n < 3; n++) wave.note(`${n}`, 'events', true)
    clock.advance(600_001)
    wave.note('later', 'events', true)
    expect(wave.isWave(100)).toBe(false)
  })

  it('is not seen again in what was missing in one before, until that is found', () => {
    const wave = new NotFoundWave(new ManualClock())
    const missing = Array.from({ length: 5 }, (_, n) => `gone ${n}`)
    for (const id of missing) wave.note(id, 'events', true)
    expect(wave.take()).toEqual(missing)
    expect([wave.isWave(100), wave.take()]).toEqual([false, []])
    wave.join('under way then')
    for (const id of [...missing, 'under way then']) wave.note(id, 'events', true)
    expect(wave.isWave(100)).toBe(false)
    // Another read of them is found, which says nothing of this one.
    for (const id of missing) wave.note(id, 'thread', false)
    for (const id of missing) wave.note(id, 'events', true)
    expect(wave.isWave(100)).toBe(false)
    for (const id of missing) wave.note(id, 'events', false)
    for (const id of missing) wave.note(id, 'events', true)
    expect(wave.isWave(100)).toBe(true)
  })
})
