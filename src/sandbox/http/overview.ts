import { timeFromMs } from '../../model/time.ts'
import { producerOf } from '../service/accounts.ts'
import { deliveryView } from '../service/delivery-history.ts'
import type { Sandbox } from '../service/sandbox.ts'

const MAX_SUBMISSIONS = 50
const MAX_DELIVERIES = 100

/** @returns the data that the sandbox's page shows. The data contains no secrets. */
export function overviewOf(running: Sandbox) {
  return {
    clock: running.clockKind,
    now: timeFromMs(running.nowMs),
    story: running.stats().story,
    accounts: running.accountNames.map((name) => accountView(running, name)),
    submissions: running.accountNames.flatMap((name) => submissionViews(running, name)),
    deliveries: running.deliveries.list().slice(-MAX_DELIVERIES).reverse().map(deliveryView),
    user_codes: running.grants.devices.waiting(),
  }
}

function accountView(running: Sandbox, name: string) {
  const account = running.account(name)
  return {
    name,
    brokerage: account.brokerage.name,
    client_id: account.credentials[0]?.clientId ?? null,
    producer_email: producerOf(account),
    users: account.users.filter(({ active }) => active).map(({ email, role }) => ({ email, role })),
    target: account.target,
    submissions: running.submissionIds(name).length,
  }
}

function submissionViews(running: Sandbox, account: string) {
  const newest = running.submissionIds(account).slice(-MAX_SUBMISSIONS).reverse()
  return newest
    .flatMap((id) => running.truth(account, id))
    .map(({ submission_id, requirements, events, messages }) => ({
      account,
      submission_id,
      insured_name: requirements.insured_name,
      marketing_status: requirements.marketing_status,
      lanes: (requirements.rail?.lanes ?? []).map(({ market_name, status_label }) => `${market_name}: ${status_label}`),
      events: events.length,
      messages: messages.length,
    }))
}
