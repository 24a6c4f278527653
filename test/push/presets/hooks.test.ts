import { describe, expect, it } from 'vitest'
import { type HookEmulator, type HookOptions, startHook } from '../../emulators/hook.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'
import { event, message, PushRig, SUBMISSION } from './rig.ts'

interface Case {
  readonly preset: string
  readonly variable: string
  readonly hook: HookOptions
  readonly status: number
}

const cases: readonly Case[] = [
  {
    preset: 'zapier',
    variable: 'ZAPIER_HOOK_URL',
    hook: {
      path: '/hooks/catch/123/secret-of-the-hook/',
      mostBytes: 4_000,
      queued: (run) => ({ status: 200, body: { id: `run-${run}`, request_id: `run-${run}`, status: 'success' } }),
    },
    status: 200,
  },
  {
    preset: 'power-automate',
    variable: 'POWER_AUTOMATE_URL',
    hook: {
      path: '/workflows/abc/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=secret-of-the-hook',
      mostBytes: 4_000,
      queued: (run) => ({ status: 202, headers: { 'x-ms-workflow-run-id': `run-${run}` }, body: '' }),
    },
    status: 202,
  },
]

describe.each(cases)('the preset $preset', ({ preset, variable, hook, status }) => {
  async function start(own = ''): Promise<{ target: HookEmulator; rig: PushRig }> {
    const target = await closedAtEnd(startHook(hook))
    const patient = 'allow_private: true, allow_hosts: [127.0.0.1], schedule: [50ms, 50ms, 50ms], timeout: 3s, rps: 100'
    const rig = await PushRig.running(sqliteDatabase, `{ name: hook, preset: ${preset}, ${patient}, ${own} }`, {
      [variable]: target.address,
      SHUTDOWN_GRACE: '1s',
    })
    return { target, rig }
  }

  it('starts a run for each change, in order, with no personal column without opt-in', async () => {
    const { target, rig } = await start()
    await rig.map(SUBMISSION, 'client-7')
    await rig.apply(event(1, { detail: 'Jane called' }), message(2, { direction: 'inbound' }))
    const rows = await rig.becomes('delivered', 'delivered')
    expect(target.runs).toMatchObject([
      { type: 'market_events.insert', message_id: rows[0]?.message_id, title: 'Status changed: Market 1', submission_id: SUBMISSION },
      { type: 'thread_messages.insert', message_id: rows[1]?.message_id, title: 'Sent to the submission service', direction: 'sent' },
    ])
    expect(rows.map(({ status: answered, remote_id: id }) => [answered, id])).toEqual([
      [status, 'run-1'],
      [status, 'run-2'],
    ])
    expect(JSON.stringify(target.runs)).not.toMatch(/Jane|Text of message/)
  })

  it('starts no run twice: an uncertain one is shown as unknown, and throttling counts no attempt', async () => {
    const { target, rig } = await start()
    target.fail('lose', 'busy', 'take', 'refuse', 'take')
    await rig.apply(event(1), event(2), event(3))
    const rows = await rig.becomes('unknown', 'delivered', 'delivered')
    expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1, 2])
    expect(target.runs.map(({ message_id: id }) => id)).toEqual(rows.map(({ message_id: id }) => id))
  })

  it('shows a change as unknown if its attempt was aborted', async () => {
    const { target, rig } = await start()
    target.fail('hang')
    await rig.apply(event(1))
    await until('it runs', () => target.runs.length === 1)
    await rig.restart()
    await rig.becomes('unknown')
    expect(target.runs).toHaveLength(1)
  })

  it('is suspended when the hook is gone, and dead-letters too large changes immediately', async () => {
    const { target, rig } = await start('personal_fields: [market_events.detail]')
    await rig.apply(event(1, { detail: 'x'.repeat(5_000) }))
    expect(await rig.becomes('dead')).toMatchObject([{ attempts: 1, status: 413 }])
    target.remove()
    await rig.apply(event(2))
    await until('it is suspended', async () => (await rig.state())?.state === 'suspended')
    const shown = JSON.stringify([await rig.state(), await rig.outbox()])
    expect(shown).not.toContain('secret-of-the-hook')
    expect(await rig.kind.probe(new AbortController().signal)).toMatchObject({ ok: null })
  })
})
