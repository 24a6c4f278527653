import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { NotFoundWave } from '../../src/poll/not-found-wave.ts'

describe('trap 48: a wave of "not found"', () => {
  it('needs half of the submissions asked about, and enough of them', () => {
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

  it('does not exist if most are found', () => {
    const wave = new NotFoundWave(new ManualClock())
    for (let n = 0; n < 20; n++) wave.note(`found ${n}`, 'events', false)
    for (let n = 0; n < 5; n++) wave.note(`gone ${n}`, 'events', true)
    expect(wave.isWave(100)).toBe(false)
  })

  it('needs all submissions of a small account, but more than one', () => {
    const wave = new NotFoundWave(new ManualClock())
    wave.note('a', 'events', true)
    expect(wave.isWave(1)).toBe(false)
    wave.note('b', 'events', true)
    expect(wave.isWave(2)).toBe(true)
  })

  it('forgets answers older than its window, and counts a submission by its last answer', () => {
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

  it('ignores submissions of an earlier wave until they are found', () => {
    const wave = new NotFoundWave(new ManualClock())
    const missing = Array.from({ length: 5 }, (_, n) => `gone ${n}`)
    for (const id of missing) wave.note(id, 'events', true)
    expect(wave.take()).toEqual(missing)
    expect([wave.isWave(100), wave.take()]).toEqual([false, []])
    wave.join('under way then')
    for (const id of [...missing, 'under way then']) wave.note(id, 'events', true)
    expect(wave.isWave(100)).toBe(false)
    // Another read of them succeeds, which says nothing about this one.
    for (const id of missing) wave.note(id, 'thread', false)
    for (const id of missing) wave.note(id, 'events', true)
    expect(wave.isWave(100)).toBe(false)
    for (const id of missing) wave.note(id, 'events', false)
    for (const id of missing) wave.note(id, 'events', true)
    expect(wave.isWave(100)).toBe(true)
  })
})
