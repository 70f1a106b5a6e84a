"""Characters that a reader may take for a letter of the marker word: data for the scan of `_fence.py`.

Only what compatibility decomposition (NFKD) and case folding do not already lead to the letter stands here: other
scripts (the idea, and most pairs, of Unicode's table of confusable characters, UTS #39), letters with a stroke or a hook, turned and small-capital
letters, enclosed letters without a decomposition, regional indicators. Generous on purpose: one wrong entry costs a
visible escape in a text that spells the whole word, one missing entry lets a lookalike stand.
"""

from typing import Final

LOOKALIKES: Final[dict[str, str]] = {
    "z": ("ƶȥɀʐʑζᏃᙆᴢᵶᶎⱬꓜ𐋵𑣄𑣉𑣥🅩🆉🇿"),
    "u": ("ʊʋʯμυцџմսሀሆᑌᘮᘴᴜᴝᵾᶙ℧∪⋃ꓴꞟꞹꭎꭒ𐓶𑣘𖽂🅤🆄🇺"),
    "p": ("þƥƿρϸϼрҏᏢᑭᣖᴘᴩᵱᵽᶈ℗℘⍴ⲣꓑꝑꝓꝕꟼ𐊕𐓬🅟🅿🆊🇵"),
    "q": ("ɋʠԛգզᶐⵕꝗꝙꞯ🅠🆀🇶"),
    "r": ("®ɍɹɺɻɼɽɾɿʀʁγгяґғռᎡᎱᏒᖇᣴᴙᴚᴦᵲᵳᶉ℞℟℩ⱹⲅꓣꝛꞃꞧꭆꭇꭈꭉꭋꭌꭨ𐓜𖼵𝈖𝼈𝼕𝼖🅡🆁🇷"),
    "k": ("ĸƙʞκϗкқҝҟҡӄԟᏦᛕᴋᶄ₭ⱪⲕⳤꓗꝁꝃꝅꞣ𐔘𝼃𝼐🅚🅺🇰"),
}

# Every character beyond ASCII whose fold holds one of the first two letters of the word, decompositions included: one
# search for these decides that most texts hold no marker. A test compares this with every code point there is.
STARTS: Final[dict[str, str]] = {
    "z": (
        "ŹźŻżŽžƵƶǄǅǆǱǲǳȤȥɀʐʑΖζᏃᙆᴢᵶᶎᶻᶼᶽẐẑẒẓẔẕℤℨ⒵Ⓩⓩ"
        "ⱫⱬⱿ㎐㎑㎒㎓㎔ꓜꟆꮓＺｚ𐋵𑢤𑢩𑣄𑣉𑣥𝐙𝐳𝑍𝑧𝒁𝒛𝒵𝓏𝓩𝔃𝔷𝕫𝖅𝖟𝖹𝗓𝗭𝘇𝘡𝘻𝙕"
        "𝙯𝚉𝚣𝚭𝛇𝛧𝜁𝜡𝜻𝝛𝝵𝞕𝞯🄩🄮🅉🅩🆉🇿\U000e005a\U000e007a"
    ),
    "u": (
        "µÙÚÛÜùúûüŨũŪūŬŭŮůŰűŲųƯưƱƲǓǔǕǖǗǘǙǚǛǜȔȕȖȗʊ"
        "ʋʯΎΜΥΫΰμυϋύϒϓϔЏЦцџՄՍմսሀሆᑌᘮᘴᴜᴝᵁᵘᵙᵤᵾᶙᶷᶸᶹṲṳ"
        "ṴṵṶṷṸṹṺṻỤụỦủỨứỪừỬửỮữỰựὐὑὒὓὔὕὖὗὙὛὝὟὺύῠῡῢΰ"
        "ῦῧῨῩῪΎ℆℧∪⋃⒰Ⓤⓤ㍳㍺㎂㎌㎍㎕㎛㎲㎶㎼ꓴꞞꞟꞸꞹꭎꭒꭟﬓﬔﬕﬗＵｕ𐓎𐓶𑢸"
        "𑣘𖽂𝐔𝐮𝑈𝑢𝑼𝒖𝒰𝓊𝓤𝓾𝔘𝔲𝕌𝕦𝖀𝖚𝖴𝗎𝗨𝘂𝘜𝘶𝙐𝙪𝚄𝚞𝚳𝚼𝛍𝛖𝛭𝛶𝜇𝜐𝜧𝜰𝝁𝝊"
        "𝝡𝝪𝝻𝞄𝞛𝞤𝞵𝞾🄤🅄🅤🆄🇺\U000e0055\U000e0075"
    ),
}
