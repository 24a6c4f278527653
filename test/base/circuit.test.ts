import { describe, expect, test } from 'vitest'
import { type Aliveness, Circuit } from '../../src/base/circuit.ts'
import { ManualClock } from '../../src/base/clock.ts'

function bench() {
  const clock = new ManualClock()
  const circuit = new Circuit(clock)
  const send = (outcome: Aliveness) => {
    const permit = circuit.admit()
    if (permit) circuit.settle(permit, outcome)
    return permit
  }
  return { clock, circuit, send }
}

describe('circuit', () => {
  test('opens after ten failures in a row; a success resets the count', () => {
    const { circuit, send } = bench()
    for (let n = 0; n < 9; n += 1) send('dead')
    send('alive')
    for (let n = 0; n < 9; n += 1) send('dead')
    expect(circuit.isOpen).toBe(false)
    send('unknown')
    send('dead')
    expect(circuit.isOpen).toBe(true)
    expect(send('alive')).toBeNull()
    expect(circuit.waitMs()).toBeGreaterThan(0)
  })

  test('stays open no longer when the clock is set back', () => {
    const { clock, circuit, send } = bench()
    for (let n = 0; n < 10; n += 1) send('dead')
    const waitMs = circuit.waitMs()
    clock.put(-43_200_000)
    expect(circuit.waitMs()).toBe(waitMs)
    clock.advance(waitMs)
    expect(circuit.admit()).toEqual({ probe: true })
  })

  test('lets one probe pass after the backoff; its success closes the circuit', () => {
    const { clock, circuit, send } = bench()
    for (let n = 0; n < 10; n += 1) send('dead')
    clock.advance(circuit.waitMs())
    const probe = circuit.admit()
    expect(probe).toEqual({ probe: true })
    expect(circuit.admit()).toBeNull()
    if (probe) circuit.settle(probe, 'alive')
    expect(circuit.isOpen).toBe(false)
    expect(circuit.admit()).toEqual({ probe: false })
  })

  test('opens for longer after a failed probe, up to a minute; after a canceled probe the next request probes', () => {
    const { clock, circuit, send } = bench()
    for (let n = 0; n < 10; n += 1) send('dead')
    const waits: number[] = []
    for (let n = 0; n < 10; n += 1) {
      waits.push(circuit.waitMs())
      clock.advance(circuit.waitMs())
      expect(send('unknown')).toEqual({ probe: true })
      expect(send('dead')).toEqual({ probe: true })
    }
    expect(waits.slice(0, 3)).toEqual([750, 1500, 3000])
    expect(Math.max(...waits)).toBeLessThanOrEqual(60_000)
  })

  test('ignores late failures of earlier requests; a late success closes it', () => {
    const { circuit, send } = bench()
    const late = circuit.admit()
    const later = circuit.admit()
    for (let n = 0; n < 10; n += 1) send('dead')
    const waitMs = circuit.waitMs()
    if (late) circuit.settle(late, 'dead')
    expect(circuit.waitMs()).toBe(waitMs)
    if (later) circuit.settle(later, 'alive')
    expect(circuit.isOpen).toBe(false)
  })
})
