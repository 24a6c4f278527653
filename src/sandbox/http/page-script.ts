/** Script of the sandbox's page. Reads the overview every two seconds and after each action. */
export const pageScript = `'use strict'
const byId = (id) => document.getElementById(id)
const shown = new Map()

async function ask(path, body) {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const answer = await fetch('/_sandbox' + path, init)
  const json = await answer.json()
  if (!answer.ok) throw new Error(typeof json.detail === 'string' ? json.detail : JSON.stringify(json.detail))
  return json
}

function element(name, text, more) {
  const made = document.createElement(name)
  made.textContent = text
  return Object.assign(made, more)
}

/** Replaces a table's rows only if they changed, so that nothing moves under the pointer. */
function fill(id, items, rowOf) {
  const text = JSON.stringify(items)
  if (shown.get(id) === text) return
  shown.set(id, text)
  byId(id).replaceChildren(...items.map((item) => {
    const row = document.createElement('tr')
    for (const cell of rowOf(item)) {
      const made = document.createElement('td')
      made.append(cell instanceof Node ? cell : String(cell === null ? '' : cell))
      row.append(made)
    }
    return row
  }))
}

function fillOptions(id, select, values, labelOf) {
  const text = JSON.stringify(values)
  if (shown.get(id) === text) return
  shown.set(id, text)
  select.replaceChildren(...values.map((value) => element('option', labelOf(value), { value: value.email || value })))
}

function actionOf(delivery) {
  const isPending = delivery.outcome === 'pending'
  const button = element('button', isPending ? 'Lose this one' : 'Send again', { type: 'button' })
  button.setAttribute('aria-label', button.textContent + ': ' + delivery.id)
  const verb = isPending ? 'lose' : 'resend'
  button.addEventListener('click', () => act('/deliveries/' + encodeURIComponent(delivery.id) + '/' + verb, {}, isPending ? 'Lost.' : 'Sent again.'))
  return button
}

function show(world) {
  byId('clock').textContent = world.now + (world.clock === 'real' ? '' : ' (' + world.clock + ' clock)')
  byId('step').hidden = world.clock !== 'step'
  byId('story').hidden = world.story.total === 0
  const { played, total, running } = world.story
  byId('progress').textContent = 'Story: ' + played + ' of ' + total + (running ? ', running' : '')
  fill('accounts', world.accounts, (one) => [one.name, one.brokerage, one.client_id, one.producer_email, one.target || 'nowhere', one.submissions])
  fill('deliveries', world.deliveries, (one) => [
    one.created_at, one.account, one.submission_id, one.type, one.outcome.replace('_', ' '), one.attempts, one.last_status, actionOf(one),
  ])
  fill('submissions', world.submissions, (one) => [
    one.insured_name, one.account, one.submission_id, one.marketing_status.replaceAll('_', ' '), one.lanes.join('; '), one.events, one.messages,
  ])
  const users = world.accounts.flatMap(({ name, users }) => users.map((user) => ({ ...user, name })))
  fillOptions('users', byId('device').elements.email, users, (user) => user.email + ' (' + user.role + ', ' + user.name + ')')
  fillOptions('codes', byId('codes'), world.user_codes, (code) => code)
}

async function refresh() {
  try {
    show(await ask('/overview'))
  } catch (error) {
    byId('said').textContent = 'The sandbox does not answer: ' + error.message
  }
}

async function act(path, body, said) {
  try {
    await ask(path, body)
    byId('said').textContent = said
  } catch (error) {
    byId('said').textContent = error.message
  }
  await refresh()
}

function decide(deny) {
  const { user_code, email } = byId('device').elements
  return act('/approve', { user_code: user_code.value, email: email.value, deny }, deny ? 'Denied.' : 'Approved.')
}

byId('step').addEventListener('submit', (event) => {
  event.preventDefault()
  const seconds = Number(byId('step').elements.seconds.value)
  act('/clock', { advance_s: seconds }, seconds + ' seconds have passed.')
})
byId('device').addEventListener('submit', (event) => {
  event.preventDefault()
  decide(false)
})
byId('deny').addEventListener('click', () => {
  if (byId('device').reportValidity()) decide(true)
})
byId('lose-next').addEventListener('click', () => act('/deliveries/next/lose', {}, 'The next delivery will be lost.'))
for (const button of document.querySelectorAll('[data-story]')) {
  button.addEventListener('click', () => act('/story', { action: button.dataset.story }, 'Done.'))
}
byId('device').elements.user_code.value = new URLSearchParams(location.search).get('user_code') || ''

async function follow() {
  if (!document.hidden) await refresh()
  setTimeout(follow, 2000)
}
follow()
`
