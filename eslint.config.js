import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    files: ["src/regard/view/web/**/*.{js,mjs}"],
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals: globals.browser },
    rules: {
      eqeqeq: "error",
      "max-len": ["error", { code: 100 }],
      "no-var": "error",
      "prefer-const": "error",
      "no-shadow": "off",
      "no-empty": ["error", { allowEmptyCatch: true }],
      "no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", destructuredArrayIgnorePattern: "^_" },
      ],
    },
  },
  {
    files: ["src/regard/view/web/learn/course.js"], // prose, a paragraph a line
    rules: { "max-len": "off" },
  },
];
