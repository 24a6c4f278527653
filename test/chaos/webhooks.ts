import { Hooks, type Mishap } from '../push/hooks.ts'
import { mixed } from './faults.ts'
import { COMMON, type Target } from './target.ts'

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const MISHAPS = {
  take: 'take',
  reset: 'reset',
  lose: 'lose',
  hang: 'hang',
  broken: { status: 500 },
  gateway: { status: 502 },
  resting: { status: 503, headers: { 'retry-after': '1' } },
  busy: { status: 429, headers: { 'retry-after': '1' } },
  refused: { status: 401 },
  rejected: { status: 422 },
  gone: { status: 410 },
} as const satisfies Record<string, Mishap>
type Named = keyof typeof MISHAPS

const GONE_AFTER = 4
const DENIED = { from: 3, to: 33 }

export async function startWebhooks(seed: string): Promise<{ readonly hooks: Hooks; readonly targets: readonly Target[] }> {
  const hooks = await Hooks.start(SECRET)
  const plans: Record<string, readonly Named[]> = {
    hook: mixed(`${seed} hook`, { reset: 4, lose: 4, hang: 2, broken: 6, gateway: 2, resting: 1, busy: 1, refused: 1, take: 40 }),
    wary: mixed(`${seed} wary`, { reset: 2, lose: 2, hang: 1, broken: 4, gateway: 1, busy: 1, refused: 1, take: 25 }),
    // One receiver rejects messages for a while; the other is gone permanently.
    denied: [...Array<Named>(DENIED.from).fill('take'), ...Array<Named>(DENIED.to - DENIED.from).fill('rejected')],
    gone: Array<Named>(GONE_AFTER).fill('take'),
  }
  const came = new Map<string, number>()
  const healed = new Set<string>()
  hooks.mishap = (hook, nth) => {
    came.set(hook, nth + 1)
    if (healed.has(hook)) return 'take'
    if (hook === 'gone' && nth >= GONE_AFTER) return MISHAPS.gone
    return MISHAPS[plans[hook]?.[nth] ?? 'take']
  }
  const targets = Object.entries(plans).map(([name, plan]): Target => {
    const own = name === 'wary' ? { idempotent: false } : {}
    return {
      destination: { ...COMMON, name, kind: 'webhook', url: hooks.urlOf(name), secret: '${HOOK_SECRET}', ...own },
      env: { HOOK_SECRET: SECRET },
      wants: () => true,
      taken: () => hooks.takenBy(name),
      once: name === 'wary',
      left: () => plan.slice(came.get(name) ?? 0).filter((mishap) => mishap !== 'take').length,
      heal: () => void healed.add(name),
      close: async () => undefined,
    }
  })
  return { hooks, targets }
}
