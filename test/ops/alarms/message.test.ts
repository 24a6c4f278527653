import { expect, it } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import { mailOf, messageOf } from '../../../src/ops/alarms/message.ts'
import type { AlarmRow } from '../../../src/store/operators/alarms.ts'

it('texts of others are one line, and control no screen that shows a message', () => {
  const now = timeFromMs(0)
  const text = 'the credentials belong to brokerage Evil\r\nBcc: x@y.example \u202e\u001b[31m "q", but this account holds the data of A'
  const times = { since: now, last_at: now, resolved_at: null, notified_at: null }
  const row: AlarmRow = { name: 'account_stopped', account: 'acme', destination: '', state: 'firing', severity: 'critical', text, ...times }
  const message = messageOf(row, 'firing', now)
  const said = 'he credentials belong to brokerage Evil Bcc: x@y.example \\u202e\\u001b[31m "q", but this account holds the data of A'
  expect(message.data.text).toBe(`t${said}`)
  expect(mailOf(message).text.split('\n')[0]).toBe(`T${said}.`)
})
