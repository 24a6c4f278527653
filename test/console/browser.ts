import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import bundled from '@sparticuz/chromium'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { PATIENCE_MS } from '../tools/until.ts'
import { type Scene, type TestRole, tokens } from './scene.ts'

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string | null
  readonly nodes: readonly ViolatingNode[]
}

interface ViolatingNode {
  readonly html: string
  readonly failureSummary: string
  readonly any: readonly { readonly relatedNodes: readonly { readonly html: string }[] }[]
}

/** What axe finds in a look during which no element came, went or moved: it takes the places of elements one after the other. */
const AXE_AT_REST = `(async () => {
  for (;;) {
    await document.fonts.ready
    let isStill = true
    const observer = new MutationObserver(() => { isStill = false })
    observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ['class', 'style'] })
    const { violations } = await axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
    observer.disconnect()
    if (isStill) return violations
  }
})()`

/** The elements that another one is too close to. */
function besides({ any }: ViolatingNode): string {
  return any.flatMap(({ relatedNodes }) => relatedNodes.map(({ html }) => html.slice(0, 200))).join(' ')
}

/** Ways of looking at a page. */
export interface Look {
  readonly width?: number
  readonly height?: number
  readonly theme?: 'light' | 'dark'
}

/** A browser that came with the development packages, or one that is installed. @throws when there is neither. */
export async function launchBrowser(): Promise<Browser> {
  if (process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64')) {
    const executablePath = await bundled.executablePath()
    // Not with the arguments that it proposes: those turn off what keeps pages of several origins apart, of which the console makes use.
    return await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  }
  return await chromium.launch({ channel: 'chrome' }).catch(() => chromium.launch({ channel: 'msedge' }))
}

/** A person before the console: a page of the browser, and everything that went wrong on it. */
export class Person {
  readonly page: Page
  readonly #context: BrowserContext
  readonly #scene: Scene
  /** Requests that left the console's origin, violations of its policy, and errors of its scripts. */
  readonly faults: string[] = []

  private constructor(context: BrowserContext, page: Page, scene: Scene) {
    this.#context = context
    this.page = page
    this.#scene = scene
    page.on('request', (request) => {
      if (!request.url().startsWith(scene.serve.ops)) this.faults.push(`a request left the origin: ${request.url()}`)
    })
    page.on('pageerror', (error) => this.faults.push(`an error of the page: ${error.message}`))
    page.on('console', (message) => {
      if (/Content Security Policy|violates/i.test(message.text())) this.faults.push(message.text())
    })
  }

  static async open(browser: Browser, scene: Scene, { width = 1280, height = 860, theme = 'light' }: Look = {}): Promise<Person> {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      locale: 'en-US',
      timezoneId: 'America/New_York',
    })
    context.setDefaultTimeout(PATIENCE_MS)
    return new Person(context, await context.newPage(), scene)
  }

  /** Opens a view. @param path below `/console`. */
  async goto(path: string): Promise<void> {
    await this.page.goto(`${this.#scene.console}${path}`)
  }

  /** Signs in at the view of a path. */
  async signIn(role: TestRole, path = '/'): Promise<void> {
    await this.goto(path)
    await this.page.getByLabel('Token').fill(tokens[role])
    await this.page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await this.page.getByRole('navigation', { name: 'Main' }).waitFor()
  }

  /** The heading of the page, once it is there. */
  async heading(): Promise<string> {
    return await this.page.getByRole('heading', { level: 1 }).innerText()
  }

  /** Waits until the live region says something that matches, where it covers nothing. */
  async says(what: RegExp): Promise<void> {
    const said = this.page.getByRole('status').filter({ hasText: what })
    await said.waitFor()
    // It stands in the bar above the page, and covers no row of it.
    expect(await said.evaluate((element) => element.closest('header') !== null)).toBe(true)
  }

  /** What axe holds to be serious or critical on the page as it is. */
  async violations(): Promise<string[]> {
    // Not as a script element, which the policy of the page forbids.
    await this.page.evaluate(axeSource)
    const violations = (await this.page.evaluate(AXE_AT_REST)) as Violation[]
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 300)} ${node.failureSummary} ${besides(node)}`))
  }

  async close(): Promise<void> {
    await this.#context.close()
    expect(this.faults).toEqual([])
  }
}
