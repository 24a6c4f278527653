/** The style of the page, in light and dark. */
export const pageStyle = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 90rem; padding: 1rem 1.5rem 3rem; }
h1, h2 { line-height: 1.2; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.5rem; }
header p { margin: 0.25rem 0; }
#said { min-height: 1.5em; font-weight: 600; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.75rem 0.3rem 0; border-bottom: 1px solid GrayText; overflow-wrap: anywhere; }
th { white-space: nowrap; }
form, #story { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: center; margin: 0.5rem 0; }
button, input, select { font: inherit; padding: 0.25rem 0.6rem; }
button { white-space: nowrap; }
[hidden] { display: none; }
`
